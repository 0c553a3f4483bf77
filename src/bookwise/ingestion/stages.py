"""The stages of a batch of lessons: parse, embed, publish. Both ways to run a job use them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

import anyio.to_thread

from bookwise.domain.books import Book, Chunk, EmbeddedChunk, LessonFile
from bookwise.domain.errors import BadLesson, EmbedderUnavailable, NotFound
from bookwise.domain.jobs import (
    IngestionJob,
    IngestionMode,
    LessonOutcome,
    LessonRecord,
    UnreadableFile,
    count_outcomes,
)
from bookwise.ingestion.chunk import ChunkOptions, chunk, lesson_id
from bookwise.ingestion.discover import Discovery
from bookwise.ingestion.embed import Memory, embed, text_hash
from bookwise.ingestion.parse import PARSER_VERSION, ParseOptions, parse
from bookwise.ingestion.plan import revision_of
from bookwise.ingestion.publish import EmbeddedLesson, inherit
from bookwise.ports import Catalog, Embedder, JobStore, LessonIndex, VectorCache

#: After this many lessons in a row that cannot be embedded, the embedder counts as down and the job fails.
EMBEDDING_FAILURES_MAX = 3

OnOutcome = Callable[[LessonOutcome], None]
ReadLesson = Callable[[LessonFile], bytes]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionKit:
    """The ports and options of an ingestion."""

    embedder: Embedder
    vectors: VectorCache
    index: LessonIndex
    catalog: Catalog
    jobs: JobStore
    chunking: ChunkOptions = field(default_factory=ChunkOptions)
    clock: Callable[[], datetime] = utc_now
    require_space: Callable[[], None] = lambda: None  #: raises `DiskFull` if the index must not grow

    @property
    def recipe(self) -> str:
        """Changes whenever the same file could produce different chunks or vectors."""
        return f"parse:{PARSER_VERSION}|{self.chunking.recipe}|{self.embedder.facts.fingerprint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedLesson:
    """A parsed lesson, cut into chunks."""

    record: LessonRecord
    chunks: tuple[Chunk, ...]


@dataclass(slots=True, kw_only=True)
class Stages:
    """The stages with what the lessons of one job share. A lesson that fails is reported to `record`."""

    kit: IngestionKit
    read: ReadLesson
    parsing: ParseOptions
    memory: Memory
    live: Mapping[str, LessonRecord]  #: live lessons before the job, by lesson id
    record: OnOutcome
    embedding_failures: int = 0

    async def parse(self, files: Sequence[LessonFile]) -> AsyncIterator[ChunkedLesson]:
        """The lessons that can be read. A cancelled parse is left behind in its thread, where it changes nothing."""
        for file in files:
            try:
                yield await anyio.to_thread.run_sync(partial(self._parse_one, file), abandon_on_cancel=True)
            except BadLesson as error:
                self.record(failed_outcome(file.source_file, error.reason, error.message))
            except RecursionError:
                self.record(failed_outcome(file.source_file, "too-deep", "The lesson is nested too deeply to be read."))

    async def embed(self, batch: Sequence[ChunkedLesson]) -> list[EmbeddedLesson]:
        """The lessons with vectors. Raises `EmbedderUnavailable` when the embedder is down."""
        lessons = [await self._inherit_versions(lesson) for lesson in batch]
        try:
            chunks = iter(await self._embed_chunks([c for lesson in lessons for c in lesson.chunks]))
        except EmbedderUnavailable:
            return await self._embed_one_by_one(lessons)
        return [
            EmbeddedLesson(record=lesson.record, chunks=tuple(next(chunks) for _ in lesson.chunks))
            for lesson in lessons
        ]

    def published(self, lesson: EmbeddedLesson) -> LessonOutcome:
        """The outcome of a lesson that has been published."""
        previous = self.live.get(lesson.record.lesson_id)
        return LessonOutcome(
            source_file=lesson.record.source_file,
            status="published",
            chunks_created=len(lesson.chunks),
            chunks_deleted=previous.chunk_count if previous else 0,
        )

    def _parse_one(self, file: LessonFile) -> ChunkedLesson:
        now = self.kit.clock()
        revision = revision_of(file, self.kit.recipe)
        lesson = parse(file, self.read(file), self.parsing)
        chunks = chunk(lesson, self.kit.chunking, revision=revision, now=now)
        record = LessonRecord(
            book_id=file.book_id,
            source_file=file.source_file,
            lesson_id=lesson_id(file),
            revision=revision,
            file_hash=file.file_hash,
            position=file.position,
            title=lesson.title,
            url=file.url,
            chunk_ids=tuple(c.id for c in chunks),
            ingested_at=now,
            text_hashes=tuple(map(text_hash, chunks)),
        )
        return ChunkedLesson(record=record, chunks=chunks)

    async def _inherit_versions(self, lesson: ChunkedLesson) -> ChunkedLesson:
        previous = self.live.get(lesson.record.lesson_id)
        if previous is None:
            return lesson
        return replace(lesson, chunks=await inherit(lesson.chunks, previous, self.kit.index))

    async def _embed_chunks(self, chunks: Sequence[Chunk]) -> list[EmbeddedChunk]:
        kit = self.kit
        return await embed(chunks, embedder=kit.embedder, cache=kit.vectors, memory=self.memory, now=kit.clock())

    async def _embed_one_by_one(self, batch: list[ChunkedLesson]) -> list[EmbeddedLesson]:
        """A text that cannot be embedded fails only its own lesson; an embedder that is down fails the job."""
        embedded = []
        for lesson in batch:
            try:
                chunks = tuple(await self._embed_chunks(lesson.chunks))
            except EmbedderUnavailable as error:
                self.embedding_failures += 1
                if self.embedding_failures >= EMBEDDING_FAILURES_MAX:
                    raise
                self.record(failed_outcome(lesson.record.source_file, "embedding", error.message))
            else:
                self.embedding_failures = 0
                embedded.append(EmbeddedLesson(record=lesson.record, chunks=chunks))
        return embedded


def failed_outcome(source_file: str, reason: str, message: str) -> LessonOutcome:
    return LessonOutcome(source_file=source_file, status="failed", reason=reason, message=message)


def skipped_outcomes(unreadable: Iterable[UnreadableFile], unchanged: Iterable[LessonFile]) -> list[LessonOutcome]:
    """The outcomes of the lessons that need no work."""
    failed = [failed_outcome(lesson.source_file, lesson.reason, lesson.message) for lesson in unreadable]
    return failed + [LessonOutcome(source_file=file.source_file, status="unchanged") for file in unchanged]


def withdrawn_outcome(record: LessonRecord) -> LessonOutcome:
    return LessonOutcome(source_file=record.source_file, status="withdrawn", chunks_deleted=record.chunk_count)


def counters_with(job: IngestionJob, outcome: LessonOutcome) -> IngestionJob:
    """The job with this outcome counted."""
    return replace(job, **{name: getattr(job, name) + count for name, count in count_outcomes([outcome]).items()})


def memory_of(job: IngestionJob) -> Memory:
    """Whether cached vectors may be used."""
    return "ignore" if job.mode == "recreate" else "recall"


async def find_book(book_id: str, catalog: Catalog) -> Book | None:
    try:
        return await catalog.book(book_id)
    except NotFound:
        return None


async def require_ingestible(book_id: str, mode: IngestionMode, kit: IngestionKit) -> None:
    """Raises `CollectionMismatch` when another data folder holds the book, and `EmbedderMismatch` when it was indexed
    with another embedder (except in mode `recreate`)."""
    await kit.catalog.require_own_folder(book_id)
    book = await find_book(book_id, kit.catalog)
    if book is not None and mode != "recreate":
        book.require_embedder(kit.embedder.facts)


def book_after(job: IngestionJob, discovery: Discovery, kit: IngestionKit, known_book: Book | None) -> Book:
    """The book as it will be after this job."""
    facts = kit.embedder.facts
    profile = discovery.profile
    same_scale = known_book and known_book.embedder == facts.fingerprint and job.mode != "recreate"
    return Book(
        id=discovery.book_id,
        title=discovery.title,
        base_url=discovery.base_url,
        language=profile.book.language,
        source=job.source,
        modules=discovery.modules,
        embedder=facts.fingerprint,
        embedder_name=facts.name,
        embedder_size=facts.size,
        calibration=profile.fitted(facts.name) or (known_book.calibration if known_book and same_scale else None),
    )
