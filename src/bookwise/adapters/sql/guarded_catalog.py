"""The SQL catalog, with a clear error for a book of another collection."""

from bookwise.adapters.collection_guard import CollectionGuard
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.domain.search import Live


class GuardedCatalog(SqlCatalog):
    """Like `SqlCatalog`; `live` raises `CollectionMismatch` when another collection holds the book."""

    def __init__(self, database: Database, *, index_id: str, exclusive: bool, guard: CollectionGuard) -> None:
        super().__init__(database, index_id=index_id, exclusive=exclusive)
        self._guard = guard

    async def live(self, book_id: str) -> Live:
        live = await super().live(book_id)
        if not live.revisions:
            await self._guard.check(book_id)
        return live
