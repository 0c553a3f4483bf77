"""Runs an ingestion job: discovered lessons are parsed, chunked, embedded and published.

A lesson that fails is recorded as failed and the job continues with the next one.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from bookwise.domain.books import Book, Chunk, EmbeddedChunk, LessonFile
from bookwise.domain.errors import BadLesson, BookwiseError, EmbedderUnavailable, NotFound
from bookwise.domain.jobs import IngestionJob, IngestionMode, IngestionPlan, LessonOutcome, LessonRecord
from bookwise.ingestion.chunk import ChunkOptions, chunk, lesson_id
from bookwise.ingestion.discover import Discovery, read_lesson
from bookwise.ingestion.embed import Memory, embed
from bookwise.ingestion.parse import PARSER_VERSION, ParseOptions, parse
from bookwise.ingestion.plan import plan, revision_of
from bookwise.ingestion.publish import EmbeddedLesson, inherit, publish, sweep
from bookwise.ports import Catalog, Embedder, JobStore, LessonIndex, VectorCache

#: Lessons are embedded and published in batches of about this many chunks: enough to keep every core busy
#: and to share one flush, few enough that little work is repeated after a crash.
BATCH_CHUNKS = 64
#: After this many lessons in a row that cannot be embedded, the embedder counts as down and the job fails.
EMBEDDING_FAILURES_MAX = 3

OnOutcome = Callable[[LessonOutcome], None]


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

    @property
    def recipe(self) -> str:
        """Changes whenever the same file could produce different chunks or vectors."""
        return f"parse:{PARSER_VERSION}|{self.chunking.recipe}|{self.embedder.facts.fingerprint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkedLesson:
    record: LessonRecord
    chunks: tuple[Chunk, ...]


@dataclass(slots=True)
class _JobRun:
    """The state of a running job."""

    root: Path
    kit: IngestionKit
    job: IngestionJob
    book: Book
    is_registered: bool  #: the catalog has the book
    memory: Memory
    parsing: ParseOptions
    live: dict[str, LessonRecord]  #: live lessons at the start, by lesson id
    report: OnOutcome
    unsaved_outcomes: list[LessonOutcome] = field(default_factory=list)
    embedding_failures: int = 0

    def record(self, outcome: LessonOutcome) -> None:
        """Counts an outcome and reports it; `save` stores it."""
        job = self.job
        published, failed = outcome.status == "published", outcome.status == "failed"
        self.job = replace(
            job,
            files_processed=job.files_processed + published,
            files_skipped=job.files_skipped + (failed or outcome.status == "unchanged"),
            files_failed=job.files_failed + failed,
            files_withdrawn=job.files_withdrawn + (outcome.status == "withdrawn"),
            chunks_created=job.chunks_created + outcome.chunks_created,
            chunks_deleted=job.chunks_deleted + outcome.chunks_deleted,
        )
        self.unsaved_outcomes.append(outcome)
        self.report(outcome)

    async def save(self) -> None:
        """Stores the counters and the outcomes that are not stored yet."""
        await self.kit.jobs.progress(self.job, self.unsaved_outcomes)
        self.unsaved_outcomes = []

    async def register_book(self) -> None:
        """Creates or updates the book in the catalog."""
        await self.kit.catalog.register(self.book)
        self.is_registered = True


async def ingest(
    discovery: Discovery,
    root: Path,
    kit: IngestionKit,
    *,
    mode: IngestionMode = "incremental",
    source: str = "",
    report: OnOutcome = lambda outcome: None,
) -> IngestionJob:
    """Opens a job that brings the index in line with the source, runs it and returns it completed."""
    job = await open_job(discovery.book_id, kit, mode=mode, source=source or str(root))
    async with failing_with(job, kit.jobs):
        return await run_job(await kit.jobs.start(job.job_id), discovery, root, kit, report=report)


async def open_job(book_id: str, kit: IngestionKit, *, mode: IngestionMode, source: str) -> IngestionJob:
    """Returns a queued job.

    Raises `JobAlreadyRunning` when the book has an unfinished job, and `EmbedderMismatch` when the book was
    indexed with another embedder (except in mode `recreate`).
    """
    book = await _find_book(book_id, kit.catalog)
    if book is not None and mode != "recreate":
        book.require_embedder(kit.embedder.facts)
    return await kit.jobs.open(book_id, mode, source)


@asynccontextmanager
async def failing_with(job: IngestionJob, jobs: JobStore) -> AsyncIterator[None]:
    """Marks the job as failed when the block raises, then re-raises."""
    try:
        yield
    except BaseException as error:
        with anyio.CancelScope(shield=True), suppress(BookwiseError):  # report the first error, not this one
            await jobs.fail(job.job_id, failure(error))
        raise


async def run_job(
    job: IngestionJob, discovery: Discovery, root: Path, kit: IngestionKit, *, report: OnOutcome = lambda outcome: None
) -> IngestionJob:
    """Runs a started job and returns it completed. When cancelled, it stops after the current batch of lessons.

    A new book appears in the catalog with its first published lesson; if there is none, the book is not listed.
    """
    known_book = await _find_book(job.book_id, kit.catalog)
    records = await kit.catalog.records(job.book_id)
    run = _JobRun(
        root=root,
        kit=kit,
        job=replace(job, total_files=len(discovery.files) + len(discovery.unreadable)),
        book=_new_book(discovery, kit, known_book, job),
        is_registered=known_book is not None,
        memory="ignore" if job.mode == "recreate" else "recall",
        parsing=ParseOptions(max_bytes=discovery.profile.limits.max_file_bytes),
        live={record.lesson_id: record for record in records},
        report=report,
    )
    try:
        return await _run(discovery, run, {record.source_file: record for record in records})
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _clean_up(run, is_new=known_book is None)
        raise


def failure(error: BaseException) -> str:
    """The error message of a job that this exception ended."""
    if isinstance(error, BookwiseError):
        return f"{error.code}: {error.message}"
    return "interrupted" if not isinstance(error, Exception) else f"bug: {type(error).__name__}"


async def _find_book(book_id: str, catalog: Catalog) -> Book | None:
    try:
        return await catalog.book(book_id)
    except NotFound:
        return None


def _new_book(discovery: Discovery, kit: IngestionKit, known_book: Book | None, job: IngestionJob) -> Book:
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


async def _run(discovery: Discovery, run: _JobRun, records: dict[str, LessonRecord]) -> IngestionJob:
    kit, book_id = run.kit, run.book.id
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    steps = plan(discovery.files, list(records.values()), kit.recipe, run.job.mode, unreadable=unreadable)
    for lesson in discovery.unreadable:
        run.record(_failed(lesson.source_file, lesson.reason, lesson.message))
    for file in steps.skip:
        run.record(LessonOutcome(source_file=file.source_file, status="unchanged"))
    await _publish_all(steps, run)
    if run.is_registered:  # a new book without one published lesson stays unlisted
        await run.register_book()  # in mode `recreate`, readers switch to the new embedder here
        await _withdraw(steps, records, run)
        await sweep(book_id, index=kit.index, catalog=kit.catalog)
        await kit.catalog.mark_ingested(book_id, run.job.mode, kit.clock())
    await run.save()
    return await kit.jobs.finish(run.job)


async def _clean_up(run: _JobRun, *, is_new: bool) -> None:
    """Stores the outcomes of a job that ends early, and removes a new book that has no lesson."""
    with suppress(BookwiseError):  # the error that ended the job is the one to report
        await run.save()
    kit, book_id = run.kit, run.book.id
    with suppress(BookwiseError):
        if is_new and run.is_registered and not await kit.catalog.records(book_id):
            await kit.catalog.remove_book(book_id)
            await sweep(book_id, index=kit.index, catalog=kit.catalog)


async def _withdraw(steps: IngestionPlan, records: dict[str, LessonRecord], run: _JobRun) -> None:
    if not steps.withdraw:
        return
    with anyio.CancelScope(shield=True):  # the job must report exactly what readers see
        await run.kit.catalog.withdraw(run.book.id, steps.withdraw)
        for source_file in steps.withdraw:
            count = records[source_file].chunk_count
            run.record(LessonOutcome(source_file=source_file, status="withdrawn", chunks_deleted=count))
        await run.save()


async def _publish_all(steps: IngestionPlan, run: _JobRun) -> None:
    """Three tasks run in parallel: one parses a batch, one embeds the batch before it, one publishes the batch
    before that."""
    if not steps.publish:
        return
    await run.save()  # so that others can see the total
    parsed, to_embed = anyio.create_memory_object_stream[list[_ChunkedLesson]](1)
    embedded, to_publish = anyio.create_memory_object_stream[list[EmbeddedLesson]](1)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_parse_batches, steps.publish, run, parsed)
            tasks.start_soon(_embed_batches, to_embed, run, embedded)
            tasks.start_soon(_publish_batches, to_publish, run)
    except BaseExceptionGroup as group:
        raise _first_error(group) from group


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error


async def _parse_batches(
    files: Sequence[LessonFile], run: _JobRun, out: MemoryObjectSendStream[list[_ChunkedLesson]]
) -> None:
    async with out:
        batch: list[_ChunkedLesson] = []
        async for lesson in _chunk_lessons(files, run):
            batch.append(lesson)
            if sum(len(parsed.chunks) for parsed in batch) >= BATCH_CHUNKS:
                await out.send(batch)
                batch = []
        if batch:
            await out.send(batch)


async def _chunk_lessons(files: Sequence[LessonFile], run: _JobRun) -> AsyncIterator[_ChunkedLesson]:
    for file in files:
        try:
            yield await anyio.to_thread.run_sync(partial(_parse_one, file, run))
        except BadLesson as error:
            run.record(_failed(file.source_file, error.reason, error.message))
        except RecursionError:
            run.record(_failed(file.source_file, "too-deep", "The lesson is nested too deeply to be read."))


def _failed(source_file: str, reason: str, message: str) -> LessonOutcome:
    return LessonOutcome(source_file=source_file, status="failed", reason=reason, message=message)


def _parse_one(file: LessonFile, run: _JobRun) -> _ChunkedLesson:
    now = run.kit.clock()
    revision = revision_of(file, run.kit.recipe)
    lesson = parse(file, read_lesson(run.root, file), run.parsing)
    chunks = chunk(lesson, run.kit.chunking, revision=revision, now=now)
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
    )
    return _ChunkedLesson(record=record, chunks=chunks)


async def _embed_batches(
    batches: MemoryObjectReceiveStream[list[_ChunkedLesson]],
    run: _JobRun,
    out: MemoryObjectSendStream[list[EmbeddedLesson]],
) -> None:
    async with batches, out:
        async for batch in batches:
            await out.send(await _embed_batch(batch, run))


async def _embed_batch(batch: list[_ChunkedLesson], run: _JobRun) -> list[EmbeddedLesson]:
    lessons = [await _inherit_versions(lesson, run) for lesson in batch]
    try:
        chunks = iter(await _embed_chunks([c for lesson in lessons for c in lesson.chunks], run))
    except EmbedderUnavailable:
        return await _embed_one_by_one(lessons, run)
    return [
        EmbeddedLesson(record=lesson.record, chunks=tuple(next(chunks) for _ in lesson.chunks)) for lesson in lessons
    ]


async def _inherit_versions(lesson: _ChunkedLesson, run: _JobRun) -> _ChunkedLesson:
    previous = run.live.get(lesson.record.lesson_id)
    if previous is None:
        return lesson
    return replace(lesson, chunks=await inherit(lesson.chunks, previous, run.kit.index))


async def _embed_chunks(chunks: Sequence[Chunk], run: _JobRun) -> list[EmbeddedChunk]:
    kit = run.kit
    return await embed(chunks, embedder=kit.embedder, cache=kit.vectors, memory=run.memory, now=kit.clock())


async def _embed_one_by_one(batch: list[_ChunkedLesson], run: _JobRun) -> list[EmbeddedLesson]:
    """A text that cannot be embedded fails only its own lesson; an embedder that is down fails the job."""
    embedded = []
    for lesson in batch:
        try:
            chunks = tuple(await _embed_chunks(lesson.chunks, run))
        except EmbedderUnavailable as error:
            run.embedding_failures += 1
            if run.embedding_failures >= EMBEDDING_FAILURES_MAX:
                raise
            run.record(_failed(lesson.record.source_file, "embedding", error.message))
        else:
            run.embedding_failures = 0
            embedded.append(EmbeddedLesson(record=lesson.record, chunks=chunks))
    return embedded


async def _publish_batches(batches: MemoryObjectReceiveStream[list[EmbeddedLesson]], run: _JobRun) -> None:
    async with batches:
        async for batch in batches:
            with anyio.CancelScope(shield=True):  # the job must report exactly what readers see
                await _publish_batch(batch, run)


async def _publish_batch(batch: list[EmbeddedLesson], run: _JobRun) -> None:
    if batch and not run.is_registered:
        await run.register_book()
    await publish(batch, index=run.kit.index, catalog=run.kit.catalog)
    for lesson in batch:
        previous = run.live.get(lesson.record.lesson_id)
        run.record(
            LessonOutcome(
                source_file=lesson.record.source_file,
                status="published",
                chunks_created=len(lesson.chunks),
                chunks_deleted=previous.chunk_count if previous else 0,
            )
        )
    await run.save()
