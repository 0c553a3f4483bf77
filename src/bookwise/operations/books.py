"""The books in the data folder: list them, list their lessons, remove one."""

from dataclasses import dataclass
from datetime import datetime

from bookwise.domain.books import Book
from bookwise.domain.errors import CollectionMismatch, JobAlreadyRunning, NotFound
from bookwise.domain.jobs import LessonRecord
from bookwise.ingestion.plan import lost_revisions
from bookwise.ingestion.publish import sweep
from bookwise.ports import JobStore
from bookwise.wiring import App, CatalogKit, index_folder

JOBS_READ = 10_000  #: newest jobs, searched for the ids of removed books


@dataclass(frozen=True, slots=True, kw_only=True)
class BookSummary:
    """A book and its live lessons."""

    book: Book
    collection: str  #: name of the index that holds the book's lessons
    records: tuple[LessonRecord, ...]
    last_full: datetime | None
    last_incremental: datetime | None


@dataclass(frozen=True, slots=True)
class ListBooks:
    """All books by id, whichever index of the data folder holds them."""

    async def run(self, kit: CatalogKit) -> list[BookSummary]:
        return [await _summary(book, kit) for book in await kit.catalog.books()]


async def _summary(book: Book, kit: CatalogKit) -> BookSummary:
    full, incremental = await kit.catalog.last_ingested(book.id)
    index, records = await _live_records(book.id, kit)
    return BookSummary(
        book=book,
        collection=index or index_folder(kit.settings, book.embedder).name,
        records=tuple(records),
        last_full=full,
        last_incremental=incremental,
    )


async def _live_records(book_id: str, kit: CatalogKit) -> tuple[str, list[LessonRecord]]:
    """The name of the index that holds the book, and the book's live lessons; both empty when no index does."""
    for name, catalog in (await kit.indexes()).items():
        if records := await catalog.records(book_id):
            return name, records
    return "", []


async def require_lessons(app: App) -> None:
    """Raises `CollectionMismatch` for a book that was ingested and has no lessons in the index of this app."""
    for book in await app.catalog.books():
        if (await app.catalog.live(book.id)).revisions:
            continue
        if any(await app.catalog.last_ingested(book.id)):  # not before the first ingest has ended
            raise CollectionMismatch(
                f"Book {book.id!r} has no lessons in this index.",
                advice=f"Ingest it again, or remove it with `bookwise books remove {book.id}`.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLessons:
    """The live lessons of a book, and the recipe that an ingest would use now."""

    records: tuple[LessonRecord, ...]
    recipe: str
    lost: tuple[str, ...] = ()  #: revisions of which the index does not hold every chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLessons:
    book_id: str

    async def run(self, app: App) -> LiveLessons:
        records = await app.catalog.records(self.book_id)
        lost = lost_revisions(records, await app.index.revisions(self.book_id))
        return LiveLessons(records=tuple(records), recipe=app.ingestion_kit.recipe, lost=tuple(sorted(lost)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedBook:
    """What a removal took away."""

    book_id: str
    title: str
    lessons: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveBook:
    """Removes a book and its chunks; its threads and jobs stay.

    Raises `NotFound` when there is no such book and `JobAlreadyRunning` while one of its jobs is queued or running.
    A service must not open a job of the book meanwhile (`JobQueue.pause_opening`): the job could stage a revision
    that the sweep is about to remove.
    """

    book_id: str

    async def run(self, app: App) -> RemovedBook:
        await _require_no_job(self.book_id, app.jobs)
        try:
            book = await app.catalog.book(self.book_id)
        except NotFound:
            await sweep(self.book_id, index=app.index, catalog=app.catalog)  # an earlier removal may have crashed
            raise
        records = await app.catalog.records(self.book_id)
        await app.catalog.remove_book(self.book_id)  # the commit point: readers no longer find the book
        chunks = await sweep(self.book_id, index=app.index, catalog=app.catalog)
        return RemovedBook(book_id=book.id, title=book.title, lessons=len(records), chunks=chunks)


async def _require_no_job(book_id: str, jobs: JobStore) -> None:
    newest = await jobs.jobs(book_id, limit=1)  # a book has at most one open job, and it is the newest
    if newest and newest[0].completed_at is None:
        raise JobAlreadyRunning(
            f"The book {book_id!r} cannot be removed while job {newest[0].job_id} is {newest[0].status}.",
            advice="Wait until the job has ended, or cancel it.",
        )


async def sweep_removed_books(app: App) -> int:
    """Removes chunks of books that are no longer in the catalog, left by a crash during `RemoveBook`.

    Returns the number of chunks. Must not run while a job is running. Removed books are known by their jobs.
    """
    listed = {book.id for book in await app.catalog.books()}
    removed = {job.book_id for job in await app.jobs.jobs(limit=JOBS_READ)} - listed
    return sum([await sweep(book_id, index=app.index, catalog=app.catalog) for book_id in sorted(removed)])
