"""A book that the index does not hold → an error that names the collection which does."""

from collections.abc import Awaitable, Callable, Mapping

from bookwise.domain.books import Book
from bookwise.domain.errors import CollectionMismatch
from bookwise.domain.search import Live
from bookwise.ports import CatalogReader

OtherCollections = Callable[[], Awaitable[Mapping[str, CatalogReader]]]


class CollectionGuard:
    """Compares the configured collection with the others of the same data folder or server."""

    def __init__(self, collection: str, find_others: OtherCollections) -> None:
        self._collection = collection
        self._find_others = find_others  #: the catalog as each other collection sees it

    async def check(self, book_id: str) -> None:
        """Raises `CollectionMismatch` when another collection holds the lessons of the book."""
        for other, catalog in (await self._find_others()).items():
            if (await catalog.live(book_id)).revisions:
                raise CollectionMismatch(
                    f"Book {book_id!r} was ingested into collection {other!r}, "
                    f"but QDRANT_COLLECTION_NAME is {self._collection!r}.",
                    advice=f"Set QDRANT_COLLECTION_NAME={other}, "
                    f"or run `bookwise ingest PATH` to index the book in {self._collection!r}.",
                )


class GuardedCatalogReader:
    """A catalog reader that reports a book of another collection instead of an empty one."""

    def __init__(self, catalog: CatalogReader, guard: CollectionGuard) -> None:
        self._catalog, self._guard = catalog, guard

    async def books(self) -> list[Book]:
        return await self._catalog.books()

    async def book(self, book_id: str) -> Book:
        return await self._catalog.book(book_id)

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        return await self._catalog.books_with_chunk(chunk_id)

    async def live(self, book_id: str) -> Live:
        live = await self._catalog.live(book_id)
        if not live.revisions:
            await self._guard.check(book_id)
        return live
