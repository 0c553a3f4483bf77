"""The SQL catalog, with a clear error for a book of another collection."""

from collections.abc import Awaitable, Callable

from bookwise.adapters.collection_guard import CollectionGuard
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.domain.books import Book
from bookwise.domain.search import Live


class GuardedCatalog(SqlCatalog):
    """Like `SqlCatalog`; `live` raises `CollectionMismatch` when another collection holds the book.

    `on_switch` is called when all books are served from this index.
    """

    def __init__(
        self,
        database: Database,
        *,
        index_id: str,
        exclusive: bool,
        guard: CollectionGuard,
        on_switch: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(database, index_id=index_id, exclusive=exclusive)
        self._guard = guard
        self._on_switch = on_switch

    async def register(self, book: Book) -> None:
        await super().register(book)
        await self.switch_index(book)

    async def switch_index(self, book: Book) -> None:
        """Calls `on_switch` if this book, which has just been registered, was the last in another index."""
        if self._on_switch and all(other.embedder == book.embedder for other in await self.books()):
            await self._on_switch()

    async def live(self, book_id: str) -> Live:
        live = await super().live(book_id)
        if not live.revisions:
            await self._guard.check(book_id)
        return live
