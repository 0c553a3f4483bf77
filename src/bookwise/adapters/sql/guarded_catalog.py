"""The SQL catalog, with a clear error for a book of another collection."""

from collections.abc import Awaitable, Callable

from sqlalchemy import select

from bookwise.adapters.collection_guard import CollectionGuard
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import lessons
from bookwise.domain.books import Book
from bookwise.domain.errors import CollectionMismatch
from bookwise.domain.search import Live


class GuardedCatalog(SqlCatalog):
    """Like `SqlCatalog`; `live` raises `CollectionMismatch` when another collection holds the book.

    `own_indexes` finds the indexes of this data folder, if other folders share the database. Then a book that another
    folder holds cannot be searched or ingested here. `on_switch` is called when all books are served from this index.
    """

    def __init__(
        self,
        database: Database,
        *,
        index_id: str,
        exclusive: bool,
        guard: CollectionGuard,
        own_indexes: Callable[[], frozenset[str]] | None = None,
        on_switch: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(database, index_id=index_id, exclusive=exclusive)
        self._guard = guard
        self._own_indexes = own_indexes
        self._on_switch = on_switch

    async def register(self, book: Book) -> None:
        await self.require_own_folder(book.id)
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
            await self.require_own_folder(book_id)
        return live

    async def require_own_folder(self, book_id: str) -> None:
        if self._own_indexes is None:
            return
        query = select(lessons.c.index_id).where(lessons.c.book_id == book_id).distinct()
        holders = set(await self._database.read(lambda connection: connection.execute(query).scalars().all()))
        if self._index_id not in holders and holders - self._own_indexes():
            raise CollectionMismatch(
                f"Book {book_id!r} is in the index of another data folder, which uses the same database.",
                advice="Set QDRANT_URL in all processes to share one index, or use that folder. If it is lost, run "
                f"`bookwise books remove {book_id}` and ingest the book again.",
            )
