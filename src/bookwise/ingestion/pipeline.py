"""A source → readers: the whole of road one. One lesson fails, the job goes on."""

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
#: and to share one flush, few enough that a crash repeats little.
BATCH_CHUNKS = 64
EMBEDDING_FAILURES_MAX = 3

OnOutcome = Callable[[LessonOutcome], None]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionKit:
    """What road one needs from outside, and its options."""

    embedder: Embedder
    vectors: VectorCache
    index: LessonIndex
    catalog: Catalog
    jobs: JobStore
    chunking: ChunkOptions = field(default_factory=ChunkOptions)
    clock: Callable[[], datetime] = utc_now

    @property
    def recipe(self) -> str:
        """Changes whenever the same file could give other chunks or other vectors."""
        return f"parse:{PARSER_VERSION}|{self.chunking.recipe}|{self.embedder.facts.fingerprint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkedLesson:
    record: LessonRecord
    chunks: tuple[Chunk, ...]


@dataclass(slots=True)
class _Run:
    """One job on its way: what it knows and what it has counted."""

    root: Path
    kit: IngestionKit
    job: IngestionJob
    memory: Memory
    parsing: ParseOptions
    before: dict[str, LessonRecord]  #: live lessons at the start, by lesson id
    report: OnOutcome
    pending: list[LessonOutcome] = field(default_factory=list)
    embedding_failures: int = 0

    def note(self, outcome: LessonOutcome) -> None:
        """Counts an outcome and shows it; the job store hears of it with the next batch."""
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
        self.pending.append(outcome)
        self.report(outcome)

    async def save(self) -> None:
        await self.kit.jobs.progress(self.job, self.pending)
        self.pending = []


async def ingest(
    discovery: Discovery,
    root: Path,
    kit: IngestionKit,
    *,
    mode: IngestionMode = "incremental",
    source: str = "",
    report: OnOutcome = lambda outcome: None,
) -> IngestionJob:
    """Brings the index in line with the source; returns the finished job."""
    job = await open_job(discovery.book_id, kit, mode=mode, source=source or str(root))
    async with failing_with(job, kit.jobs):
        return await run_job(await kit.jobs.start(job.job_id), discovery, root, kit, report=report)


async def open_job(book_id: str, kit: IngestionKit, *, mode: IngestionMode, source: str) -> IngestionJob:
    """A queued job, unless the book has one already or is bound to another embedder."""
    known = await _known_book(book_id, kit.catalog)
    if known is not None and mode != "recreate":
        known.require_embedder(kit.embedder.facts)
    return await kit.jobs.open(book_id, mode, source)


@asynccontextmanager
async def failing_with(job: IngestionJob, jobs: JobStore) -> AsyncIterator[None]:
    """What goes wrong inside is written into the job."""
    try:
        yield
    except BaseException as error:
        with anyio.CancelScope(shield=True), suppress(BookwiseError):  # what went wrong first is what counts
            await jobs.fail(job.job_id, failure(error))
        raise


async def run_job(
    job: IngestionJob, discovery: Discovery, root: Path, kit: IngestionKit, *, report: OnOutcome = lambda outcome: None
) -> IngestionJob:
    """Runs a job that was started, to its end. Cancelled, it stops after the lessons it is publishing."""
    known = await _known_book(job.book_id, kit.catalog)
    book = _book(discovery, kit, known, job)
    if known is None:
        await kit.catalog.register(book)
    return await _run(discovery, root, kit, job=job, book=book, report=report)


def failure(error: BaseException) -> str:
    """What a job says that was ended by this."""
    if isinstance(error, BookwiseError):
        return f"{error.code}: {error.message}"
    return "interrupted" if not isinstance(error, Exception) else f"bug: {type(error).__name__}"


async def _known_book(book_id: str, catalog: Catalog) -> Book | None:
    try:
        return await catalog.book(book_id)
    except NotFound:
        return None


def _book(discovery: Discovery, kit: IngestionKit, known: Book | None, job: IngestionJob) -> Book:
    """The book as this run will leave it."""
    facts = kit.embedder.facts
    profile = discovery.profile
    kept = known.calibration if known and known.embedder == facts.fingerprint and job.mode != "recreate" else None
    return Book(
        id=discovery.book_id,
        title=discovery.title,
        base_url=discovery.base_url,
        language=profile.book.language,
        source=job.source,
        modules=profile.module_list,
        embedder=facts.fingerprint,
        embedder_name=facts.name,
        embedder_size=facts.size,
        calibration=profile.fitted(facts.name) or kept,
    )


async def _run(
    discovery: Discovery, root: Path, kit: IngestionKit, *, job: IngestionJob, book: Book, report: OnOutcome
) -> IngestionJob:
    records = await kit.catalog.records(book.id)
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    steps = plan(discovery.files, records, kit.recipe, job.mode, unreadable=unreadable)
    total = len(discovery.files) + len(discovery.unreadable)
    run = _Run(
        root=root,
        kit=kit,
        job=replace(job, total_files=total),
        memory="ignore" if job.mode == "recreate" else "recall",
        parsing=ParseOptions(max_bytes=discovery.profile.limits.max_file_bytes),
        before={record.lesson_id: record for record in records},
        report=report,
    )
    for lesson in discovery.unreadable:
        run.note(_failed(lesson.source_file, lesson.reason, lesson.message))
    for file in steps.skip:
        run.note(LessonOutcome(source_file=file.source_file, status="unchanged"))
    await _publish_all(steps, run)
    await kit.catalog.register(book)  # where `recreate` changed the embedder, readers move over here
    await _withdraw(steps, {record.source_file: record for record in records}, run)
    await sweep(book.id, index=kit.index, catalog=kit.catalog)
    await kit.catalog.mark_ingested(book.id, job.mode, kit.clock())
    await run.save()
    return await kit.jobs.finish(run.job)


async def _withdraw(steps: IngestionPlan, before: dict[str, LessonRecord], run: _Run) -> None:
    if not steps.withdraw:
        return
    with anyio.CancelScope(shield=True):  # what readers see is also what the job says
        await run.kit.catalog.withdraw(run.job.book_id, steps.withdraw)
        for source_file in steps.withdraw:
            gone = before[source_file].chunk_count
            run.note(LessonOutcome(source_file=source_file, status="withdrawn", chunks_deleted=gone))
        await run.save()


async def _publish_all(steps: IngestionPlan, run: _Run) -> None:
    """Reads, embeds and publishes at the same time: a batch is read while the one before it is embedded
    and the one before that is published."""
    if not steps.publish:
        return
    await run.save()  # how much there is to do
    read, to_embed = anyio.create_memory_object_stream[list[_ChunkedLesson]](1)
    embedded, to_publish = anyio.create_memory_object_stream[list[EmbeddedLesson]](1)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_batches, steps.publish, run, read)
            tasks.start_soon(_embed_batches, to_embed, run, embedded)
            tasks.start_soon(_publish_batches, to_publish, run)
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


async def _read_batches(
    files: Sequence[LessonFile], run: _Run, out: MemoryObjectSendStream[list[_ChunkedLesson]]
) -> None:
    async with out:
        batch: list[_ChunkedLesson] = []
        async for lesson in _chunked(files, run):
            batch.append(lesson)
            if sum(len(read.chunks) for read in batch) >= BATCH_CHUNKS:
                await out.send(batch)
                batch = []
        if batch:
            await out.send(batch)


async def _chunked(files: Sequence[LessonFile], run: _Run) -> AsyncIterator[_ChunkedLesson]:
    for file in files:
        try:
            yield await anyio.to_thread.run_sync(partial(_read_one, file, run))
        except BadLesson as error:
            run.note(_failed(file.source_file, error.reason, error.message))
        except RecursionError:
            run.note(_failed(file.source_file, "too-deep", "The lesson is nested too deeply to be read."))


def _failed(source_file: str, reason: str, message: str) -> LessonOutcome:
    return LessonOutcome(source_file=source_file, status="failed", reason=reason, message=message)


def _read_one(file: LessonFile, run: _Run) -> _ChunkedLesson:
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
        place=file.place,
        title=lesson.title,
        url=file.url,
        chunk_ids=tuple(c.id for c in chunks),
        ingested_at=now,
    )
    return _ChunkedLesson(record=record, chunks=chunks)


async def _embed_batches(
    batches: MemoryObjectReceiveStream[list[_ChunkedLesson]],
    run: _Run,
    out: MemoryObjectSendStream[list[EmbeddedLesson]],
) -> None:
    async with batches, out:
        async for batch in batches:
            await out.send(await _embedded(batch, run))


async def _embedded(batch: list[_ChunkedLesson], run: _Run) -> list[EmbeddedLesson]:
    aged = [await _aged(lesson, run) for lesson in batch]
    try:
        chunks = iter(await _vectors([c for lesson in aged for c in lesson.chunks], run))
    except EmbedderUnavailable:
        return await _one_by_one(aged, run)
    return [EmbeddedLesson(record=lesson.record, chunks=tuple(next(chunks) for _ in lesson.chunks)) for lesson in aged]


async def _aged(lesson: _ChunkedLesson, run: _Run) -> _ChunkedLesson:
    before = run.before.get(lesson.record.lesson_id)
    if before is None:
        return lesson
    return replace(lesson, chunks=await inherit(lesson.chunks, before, run.kit.index))


async def _vectors(chunks: Sequence[Chunk], run: _Run) -> list[EmbeddedChunk]:
    kit = run.kit
    return await embed(chunks, embedder=kit.embedder, cache=kit.vectors, memory=run.memory, now=kit.clock())


async def _one_by_one(batch: list[_ChunkedLesson], run: _Run) -> list[EmbeddedLesson]:
    """One text that cannot be embedded costs its own lesson; a service that is down ends the job."""
    embedded = []
    for lesson in batch:
        try:
            chunks = tuple(await _vectors(lesson.chunks, run))
        except EmbedderUnavailable as error:
            run.embedding_failures += 1
            if run.embedding_failures >= EMBEDDING_FAILURES_MAX:
                raise
            run.note(_failed(lesson.record.source_file, "embedding", error.message))
        else:
            run.embedding_failures = 0
            embedded.append(EmbeddedLesson(record=lesson.record, chunks=chunks))
    return embedded


async def _publish_batches(batches: MemoryObjectReceiveStream[list[EmbeddedLesson]], run: _Run) -> None:
    async with batches:
        async for batch in batches:
            with anyio.CancelScope(shield=True):  # what readers see is also what the job says
                await _publish_batch(batch, run)


async def _publish_batch(batch: list[EmbeddedLesson], run: _Run) -> None:
    await publish(batch, index=run.kit.index, catalog=run.kit.catalog)
    for lesson in batch:
        before = run.before.get(lesson.record.lesson_id)
        run.note(
            LessonOutcome(
                source_file=lesson.record.source_file,
                status="published",
                chunks_created=len(lesson.chunks),
                chunks_deleted=before.chunk_count if before else 0,
            )
        )
    await run.save()
