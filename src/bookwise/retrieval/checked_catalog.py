"""A catalog that readers can rely on: it refuses a book of which the index does not hold every chunk."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from bookwise.domain.books import Book
from bookwise.domain.errors import IndexUnavailable
from bookwise.domain.search import Live
from bookwise.ports import CatalogReader, LessonIndex

LiveChunks: TypeAlias = Callable[[str], Awaitable[Mapping[str, int]]]
"""book id → the number of chunks per live revision, from the catalog."""


class CheckedCatalog:
    """Compares the catalog with the index when a book is first read, once per process.

    The two differ after one of them was restored from an older backup, or lost data. Answers would then silently miss
    parts of the book.
    """

    def __init__(self, catalog: CatalogReader, index: LessonIndex, live_chunks: LiveChunks) -> None:
        self._catalog, self._index, self._live_chunks = catalog, index, live_chunks
        self._complete: set[str] = set()

    async def books(self) -> list[Book]:
        return await self._catalog.books()

    async def book(self, book_id: str) -> Book:
        return await self._catalog.book(book_id)

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        return await self._catalog.books_with_chunk(chunk_id)

    async def live(self, book_id: str) -> Live:
        """As `CatalogReader.live`. Raises `IndexUnavailable` when the index does not hold all of these revisions."""
        live = await self._catalog.live(book_id)
        while live.revisions and book_id not in self._complete:
            missing, total = await self._missing(book_id)
            if not missing:
                self._complete.add(book_id)
                break
            if live == (live := await self._catalog.live(book_id)):  # else a lesson was published meanwhile
                raise _incomplete(book_id, missing, total)
        return live

    async def _missing(self, book_id: str) -> tuple[int, int]:
        """The number of live chunks that the index does not hold, and of all live chunks."""
        stored = await self._index.revisions(book_id)
        live = await self._live_chunks(book_id)
        missing = sum(max(0, count - stored.get(revision, 0)) for revision, count in live.items())
        return missing, sum(live.values())


def _incomplete(book_id: str, missing: int, total: int) -> IndexUnavailable:
    return IndexUnavailable(
        f"The index does not match the catalog: {missing:,} of {total:,} chunks of book {book_id!r} are missing. "
        "One of the two is older, or has lost data.",
        advice="Run `bookwise ingest PATH` or `bookwise doctor --repair`; cached vectors make it fast.",
    )
