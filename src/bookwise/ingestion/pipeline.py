"""Runs an ingestion job in this process: discovered lessons are parsed, chunked, embedded and published.

A lesson that fails is recorded as failed and the job continues with the next one.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from bookwise.domain.books import Book, LessonFile
from bookwise.domain.errors import BookwiseError
from bookwise.domain.jobs import IngestionJob, IngestionMode, IngestionPlan, LessonOutcome, LessonRecord
from bookwise.domain.system_errors import system_error
from bookwise.ingestion.discover import Discovery, parse_options, read_lesson
from bookwise.ingestion.plan import lost_revisions, plan
from bookwise.ingestion.publish import EmbeddedLesson, publish, sweep
from bookwise.ingestion.stages import (
    ChunkedLesson,
    IngestionKit,
    OnOutcome,
    Stages,
    book_after,
    counters_with,
    find_book,
    memory_of,
    require_ingestible,
    skipped_outcomes,
    withdrawn_outcome,
)
from bookwise.ports import JobStore

#: Lessons are embedded and published in batches of about this many chunks: enough to keep every core busy
#: and to share one flush, few enough that little work is repeated after a crash.
BATCH_CHUNKS = 64


@dataclass(slots=True)
class _JobRun:
    """The state of a running job."""

    kit: IngestionKit
    job: IngestionJob
    book: Book
    is_registered: bool  #: the catalog has the book
    report: OnOutcome
    unsaved_outcomes: list[LessonOutcome] = field(default_factory=list)

    def record(self, outcome: LessonOutcome) -> None:
        """Counts an outcome and reports it; `save` stores it."""
        self.job = counters_with(self.job, outcome)
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

    Raises `JobAlreadyRunning` when the book has an unfinished job, `EmbedderMismatch` when the book was indexed with
    another embedder (except in mode `recreate`), and `DiskFull` when the disk has no space for the index to grow.
    """
    kit.require_space()
    await require_ingestible(book_id, mode, kit)
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
    known_book = await find_book(job.book_id, kit.catalog)
    records = await kit.catalog.records(job.book_id)
    run = _JobRun(
        kit=kit,
        job=replace(job, total_files=len(discovery.files) + len(discovery.unreadable), warnings=discovery.warnings),
        book=book_after(job, discovery, kit, known_book),
        is_registered=known_book is not None,
        report=report,
    )
    stages = Stages(
        kit=kit,
        read=partial(read_lesson, root),
        parsing=parse_options(discovery.profile.limits.max_file_bytes),
        memory=memory_of(job),
        live={record.lesson_id: record for record in records},
        record=run.record,
    )
    try:
        return await _run(discovery, run, stages, {record.source_file: record for record in records})
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _clean_up(run, is_new=known_book is None)
        raise


def failure(error: BaseException) -> str:
    """The error message of a job that this exception ended."""
    reported = error if isinstance(error, BookwiseError) else system_error(error, "a file or a working memory")
    if reported is not None:
        return f"{reported.code}: {reported.message}"
    return "interrupted" if not isinstance(error, Exception) else f"bug: {type(error).__name__}"


async def _run(discovery: Discovery, run: _JobRun, stages: Stages, records: dict[str, LessonRecord]) -> IngestionJob:
    kit, book_id = run.kit, run.book.id
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    live = list(records.values())
    lost = lost_revisions(live, await kit.index.revisions(book_id))
    steps = plan(discovery.files, live, kit.recipe, run.job.mode, unreadable=unreadable, lost=lost)
    for outcome in skipped_outcomes(discovery.unreadable, steps.skip):
        run.record(outcome)
    await _publish_all(steps, run, stages)
    if run.is_registered:  # a new book without one published lesson stays unlisted
        await run.register_book()  # in mode `recreate`, readers switch to the new embedder here
        await _withdraw(steps, records, run)
        await sweep(book_id, index=kit.index, catalog=kit.catalog)
        await kit.catalog.mark_ingested(book_id, run.job.mode, kit.clock())
    await run.save()
    await kit.vectors.forget_unused()
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
            run.record(withdrawn_outcome(records[source_file]))
        await run.save()


async def _publish_all(steps: IngestionPlan, run: _JobRun, stages: Stages) -> None:
    """Three tasks run in parallel: one parses a batch, one embeds the batch before it, one publishes the batch
    before that."""
    if not steps.publish:
        return
    await run.save()  # so that others can see the total
    parsed, to_embed = anyio.create_memory_object_stream[list[ChunkedLesson]](1)
    embedded, to_publish = anyio.create_memory_object_stream[list[EmbeddedLesson]](1)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_parse_batches, steps.publish, stages, parsed)
            tasks.start_soon(_embed_batches, to_embed, stages, embedded)
            tasks.start_soon(_publish_batches, to_publish, run, stages)
    except BaseExceptionGroup as group:
        raise _first_error(group) from group


def _first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error


async def _parse_batches(
    files: Sequence[LessonFile], stages: Stages, out: MemoryObjectSendStream[list[ChunkedLesson]]
) -> None:
    async with out:
        batch: list[ChunkedLesson] = []
        async for lesson in stages.parse(files):
            batch.append(lesson)
            if sum(len(parsed.chunks) for parsed in batch) >= BATCH_CHUNKS:
                await out.send(batch)
                batch = []
        if batch:
            await out.send(batch)


async def _embed_batches(
    batches: MemoryObjectReceiveStream[list[ChunkedLesson]],
    stages: Stages,
    out: MemoryObjectSendStream[list[EmbeddedLesson]],
) -> None:
    async with batches, out:
        async for batch in batches:
            await out.send(await stages.embed(batch))


async def _publish_batches(
    batches: MemoryObjectReceiveStream[list[EmbeddedLesson]], run: _JobRun, stages: Stages
) -> None:
    async with batches:
        async for batch in batches:
            with anyio.CancelScope(shield=True):  # the job must report exactly what readers see
                await _publish_batch(batch, run, stages)


async def _publish_batch(batch: list[EmbeddedLesson], run: _JobRun, stages: Stages) -> None:
    if batch and not run.is_registered:
        await run.register_book()
    await publish(batch, index=run.kit.index, catalog=run.kit.catalog)
    for lesson in batch:
        run.record(stages.published(lesson))
    await run.save()
