"""What a command wants of the books, as data: carried out by itself, or by the service that holds the data folder.

An errand and what it returns travel as JSON, so both are made of dataclasses. The operator's route lists the errands
that a service carries out; those that only look into a book are in `reading`, which loads in an instant.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from bookwise.domain.access import ApiKey, ApiRole
from bookwise.domain.answers import Answer, AnswerEvent, EngineName, Question
from bookwise.domain.books import Book
from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome, LessonRecord
from bookwise.wiring import App, index_folder

if TYPE_CHECKING:
    from bookwise.answering.ask import AskKit
    from bookwise.api.ingesting import IngestionRunner

Kit_contra = TypeVar("Kit_contra", contravariant=True)
Found_co = TypeVar("Found_co", covariant=True)


class Errand(Protocol[Kit_contra, Found_co]):
    async def run(self, kit: Kit_contra, /) -> Found_co: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question, answered from the book."""

    text: str
    book: str | None
    module: str | None
    top_k: int
    tier: int
    threshold: float
    engine: EngineName | None

    async def run(self, kit: "AskKit") -> Answer:
        from bookwise.answering.ask import final

        return await final(await self.events(kit))

    async def events(self, kit: "AskKit") -> AsyncGenerator[AnswerEvent]:
        """The answer while it is written."""
        from bookwise.answering.ask import ask  # after the model began to load
        from bookwise.library import book_for

        question = Question(
            text=self.text,
            book_id=(await book_for(kit.search.catalog, self.book, self.module)).id,
            module=self.module,
            hardware_tier=self.tier,
            top_k=self.top_k,
            threshold=self.threshold,
            engine=self.engine,
        )
        return ask(question, kit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedBook:
    """A book and what is live of it."""

    book: Book
    collection: str
    records: tuple[LessonRecord, ...]
    last_full: datetime | None
    last_incremental: datetime | None


@dataclass(frozen=True, slots=True)
class ListBooks:
    async def run(self, app: App) -> list[ShelvedBook]:
        return [await self._shelved(book, app) for book in await app.catalog.books()]

    async def _shelved(self, book: Book, app: App) -> ShelvedBook:
        full, incremental = await app.catalog.last_ingested(book.id)
        return ShelvedBook(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListJobs:
    """The newest jobs."""

    book: str | None
    limit: int

    async def run(self, app: App) -> list[IngestionJob]:
        return await app.jobs.jobs(self.book, limit=self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    job: IngestionJob
    outcomes: tuple[LessonOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJob:
    """A job with the outcome of every lesson so far."""

    job_id: int

    async def run(self, app: App) -> JobReport:
        job = await app.jobs.job(self.job_id)  # first: what ended has all its outcomes
        return JobReport(job=job, outcomes=tuple(await app.jobs.outcomes(self.job_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """A job in the service, from a source on its machine."""

    source: str
    book_id: str
    mode: IngestionMode

    async def run(self, runner: "IngestionRunner") -> IngestionJob:
        return await runner.ingest(self.source, self.book_id, self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob:
    job_id: int

    async def run(self, runner: "IngestionRunner") -> IngestionJob:
        return await runner.cancel(self.job_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWithSecret:
    key: ApiKey
    secret: str = field(repr=False)
    absent: tuple[str, ...] = ()  #: books of the key that are not there


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateKey:
    name: str
    role: ApiRole
    books: tuple[str, ...]
    origins: tuple[str, ...]
    rate_per_minute: int

    async def run(self, app: App) -> KeyWithSecret:
        key, secret = await app.keys.create(
            self.name, self.role, books=self.books, origins=self.origins, rate_per_minute=self.rate_per_minute
        )
        there = {book.id for book in await app.catalog.books()}
        return KeyWithSecret(key=key, secret=secret, absent=tuple(book for book in key.books if book not in there))


@dataclass(frozen=True, slots=True)
class ListKeys:
    async def run(self, app: App) -> list[ApiKey]:
        return await app.keys.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeKey:
    key_id: str

    async def run(self, app: App) -> ApiKey:
        return await app.keys.revoke(self.key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateKey:
    key_id: str
    grace_seconds: int

    async def run(self, app: App) -> KeyWithSecret:
        key, secret = await app.keys.rotate(self.key_id, grace_seconds=self.grace_seconds)
        return KeyWithSecret(key=key, secret=secret)
