"""The books in the data folder and what readers see of them."""

from dataclasses import dataclass
from datetime import datetime

from bookwise.domain.books import Book
from bookwise.domain.jobs import LessonRecord
from bookwise.wiring import App, index_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class BookSummary:
    """A book and what is live of it."""

    book: Book
    collection: str
    records: tuple[LessonRecord, ...]
    last_full: datetime | None
    last_incremental: datetime | None


@dataclass(frozen=True, slots=True)
class ListBooks:
    async def run(self, app: App) -> list[BookSummary]:
        return [await self._shelved(book, app) for book in await app.catalog.books()]

    async def _shelved(self, book: Book, app: App) -> BookSummary:
        full, incremental = await app.catalog.last_ingested(book.id)
        return BookSummary(
            book=book,
            collection=index_folder(app.settings, book.embedder).name,
            records=tuple(await app.catalog.records(book.id)),
            last_full=full,
            last_incremental=incremental,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLessons:
    """What is live of a book, and the recipe that an ingest would follow now."""

    records: tuple[LessonRecord, ...]
    recipe: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLessons:
    book_id: str

    async def run(self, app: App) -> LiveLessons:
        return LiveLessons(records=tuple(await app.catalog.records(self.book_id)), recipe=app.ingestion_kit.recipe)
