"""Runs the steps of a job that several workers share: plan it once, publish its batches, finish it.

The work itself is the same as in `pipeline`; here every change goes through a step that this worker holds.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from bookwise.domain.books import LessonFile
from bookwise.domain.errors import BadLesson
from bookwise.domain.jobs import JobPlan, JobStep, LessonOutcome, PlannedLesson
from bookwise.ingestion.discover import Discovery, parse_options, read_lesson
from bookwise.ingestion.plan import lost_revisions, plan
from bookwise.ingestion.publish import sweep
from bookwise.ingestion.stages import (
    IngestionKit,
    Stages,
    book_after,
    failed_outcome,
    find_book,
    memory_of,
    skipped_outcomes,
)
from bookwise.ingestion.step_store import StepStore

#: A batch has about as many chunks as one of `pipeline`, and few enough lessons to repeat after a crash.
BATCH_BYTES = 96 * 1024
BATCH_LESSONS = 32

FindLessons = Callable[[JobStep], Awaitable[tuple[Discovery, Path]]]


async def run_step(
    step: JobStep, steps: StepStore, kit: IngestionKit, find_lessons: FindLessons
) -> list[LessonOutcome]:
    """Runs a claimed step to its end and returns the outcomes of its lessons. Raises `StepLost` when another worker has
    taken it over; nothing of this worker's is published then."""
    match step.kind:
        case "plan":
            return await _plan(step, steps, kit, *await find_lessons(step))
        case "lessons":
            return await _publish(step, steps, kit)
        case "finish":
            return await _finish(step, steps, kit)


async def _plan(
    step: JobStep, steps: StepStore, kit: IngestionKit, discovery: Discovery, root: Path
) -> list[LessonOutcome]:
    job = step.job
    known_book = await find_book(job.book_id, kit.catalog)
    records = await kit.catalog.records(job.book_id)
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    lost = lost_revisions(records, await kit.index.revisions(job.book_id))
    todo = plan(discovery.files, records, kit.recipe, job.mode, unreadable=unreadable, lost=lost)
    outcomes = skipped_outcomes(discovery.unreadable, todo.skip)
    batches = _read_batches(todo.publish, root, outcomes)
    number = 0
    while batch := await anyio.to_thread.run_sync(next, batches, None):
        number += 1
        await steps.add_batch(step, number, batch)
    job_plan = JobPlan(
        book=book_after(job, discovery, kit, known_book),
        withdraw=todo.withdraw,
        max_file_bytes=discovery.profile.limits.max_file_bytes,
    )
    total = len(discovery.files) + len(discovery.unreadable)
    await steps.store_plan(step, job_plan, total_files=total, warnings=discovery.warnings, outcomes=outcomes)
    return outcomes


def _read_batches(
    files: Sequence[LessonFile], root: Path, outcomes: list[LessonOutcome]
) -> Iterator[list[PlannedLesson]]:
    batch: list[PlannedLesson] = []
    for file in files:
        try:
            batch.append(PlannedLesson(file=file, content=read_lesson(root, file)))
        except BadLesson as error:
            outcomes.append(failed_outcome(file.source_file, error.reason, error.message))
        if len(batch) == BATCH_LESSONS or sum(len(lesson.content) for lesson in batch) >= BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


async def _publish(step: JobStep, steps: StepStore, kit: IngestionKit) -> list[LessonOutcome]:
    job_plan = await steps.plan(step)
    batch = {lesson.file: lesson.content for lesson in await steps.lessons(step)}
    records = await kit.catalog.records(step.job.book_id)
    outcomes: list[LessonOutcome] = []
    stages = Stages(
        kit=kit,
        read=batch.__getitem__,
        parsing=parse_options(job_plan.max_file_bytes),
        memory=memory_of(step.job),
        live={record.lesson_id: record for record in records},
        record=outcomes.append,
    )
    parsed = [lesson async for lesson in stages.parse(list(batch))]
    embedded = await stages.embed(parsed)
    await kit.index.stage([chunk for lesson in embedded for chunk in lesson.chunks])
    outcomes += [stages.published(lesson) for lesson in embedded]
    live = [lesson.record for lesson in embedded]
    await steps.commit(step, job_plan.book, live, outcomes)  # the commit point
    return outcomes


async def _finish(step: JobStep, steps: StepStore, kit: IngestionKit) -> list[LessonOutcome]:
    outcomes = await steps.close_book(step, await steps.plan(step))
    if outcomes is not None:
        still_ours = partial(steps.check, step)
        await sweep(step.job.book_id, index=kit.index, catalog=kit.catalog, before_removal=still_ours)
    await kit.vectors.forget_unused()
    await steps.finish(step)
    return outcomes or []
