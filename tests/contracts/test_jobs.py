"""What the port `JobStore` promises."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any, TypeAlias

import anyio
import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.domain.errors import BookwiseError, Conflict, InvalidInput, JobAlreadyRunning, NotFound
from bookwise.domain.jobs import MODES, WARNINGS_MAX, IngestionJob, LessonOutcome
from bookwise.ports import JobStore

pytestmark = pytest.mark.anyio

Change: TypeAlias = Callable[[], Awaitable[Any]]

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
COUNTED = {
    "total_files": 10,
    "files_processed": 6,
    "files_skipped": 4,
    "files_failed": 1,
    "files_withdrawn": 2,
    "chunks_created": 60,
    "chunks_deleted": 12,
}
OUTCOMES = (
    LessonOutcome(source_file="a.md", status="published", chunks_created=9, chunks_deleted=2),
    LessonOutcome(source_file="ü – 机.md", status="failed", reason="encoding", message="byte 0xff\nat 3"),
    LessonOutcome(source_file="b.md", status="unchanged"),
)


async def running(jobs: JobStore, book_id: str = "robots") -> IngestionJob:
    job = await jobs.open(book_id, "full", "/srv/robots")
    return await jobs.start(job.job_id)


async def test_a_new_job_is_queued(jobs: JobStore) -> None:
    before = datetime.now(UTC)
    for mode in MODES:
        job = await jobs.open(f"book-{mode}", mode, "/srv/ü")
        assert (job.book_id, job.mode, job.status, job.source) == (f"book-{mode}", mode, "queued", "/srv/ü")
        assert job.started_at is None
        assert job.completed_at is None
        assert before <= job.queued_at <= datetime.now(UTC)
        assert await jobs.job(job.job_id) == job


async def test_a_job_runs_and_completes_with_its_counters(jobs: JobStore) -> None:
    job = await running(jobs)
    assert job.status == "running"
    assert job.started_at is not None
    assert job.completed_at is None
    done = await jobs.finish(replace(job, **COUNTED))
    assert done.status == "completed"
    assert {name: getattr(done, name) for name in COUNTED} == COUNTED
    assert done.completed_at is not None
    assert done.duration_seconds is not None
    assert done.error_message is None
    assert await jobs.job(job.job_id) == done


async def test_progress_stores_counters_and_adds_outcomes_in_order(jobs: JobStore) -> None:
    job = await running(jobs)
    await jobs.progress(replace(job, total_files=3, files_processed=1), OUTCOMES[:1])
    await jobs.progress(replace(job, total_files=3, files_processed=1, files_skipped=2), OUTCOMES[1:])
    await jobs.progress(replace(job, total_files=3, files_processed=1, files_skipped=2), [])
    stored = await jobs.job(job.job_id)
    assert (stored.status, stored.total_files, stored.files_processed, stored.files_skipped) == (
        "running",
        3,
        1,
        2,
    )
    assert await jobs.outcomes(job.job_id) == list(OUTCOMES[:2]), "an unchanged lesson is only counted"


async def test_a_job_can_fail_before_and_after_it_starts(jobs: JobStore) -> None:
    queued = await jobs.open("robots", "full", "")
    failed = await jobs.fail(queued.job_id, "The folder is gone.")
    assert (failed.status, failed.error_message, failed.started_at) == ("failed", "The folder is gone.", None)
    assert failed.completed_at is not None
    later = await running(jobs)
    failed = await jobs.fail(later.job_id, "Full disk")
    assert failed.status == "failed"
    assert failed.duration_seconds is not None


async def test_a_failed_job_keeps_the_progress_it_made(jobs: JobStore) -> None:
    job = await running(jobs)
    await jobs.progress(replace(job, total_files=9, files_processed=1, chunks_created=9), OUTCOMES[:1])
    failed = await jobs.fail(job.job_id, "Killed")
    assert (failed.total_files, failed.files_processed, failed.chunks_created) == (9, 1, 9)
    assert await jobs.outcomes(job.job_id) == [OUTCOMES[0]]


def every_change(jobs: JobStore, job: IngestionJob) -> dict[str, Change]:
    return {
        "start": partial(jobs.start, job.job_id),
        "progress": partial(jobs.progress, job, OUTCOMES),
        "finish": partial(jobs.finish, job),
        "fail": partial(jobs.fail, job.job_id, "too late"),
        "requeue": partial(jobs.requeue, job.job_id),
    }


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ("queued", {"start", "fail"}),
        ("running", {"progress", "finish", "fail", "requeue"}),
        ("completed", set()),
        ("failed", set()),
    ],
)
async def test_only_the_documented_transitions_exist(jobs: JobStore, status: str, allowed: set[str]) -> None:
    for name in ("start", "progress", "finish", "fail", "requeue"):
        job = await job_that_is(jobs, status, book_id=name)
        change = every_change(jobs, job)[name]
        if name in allowed:
            await change()
        else:
            with pytest.raises(Conflict, match=f"{job.job_id} is {status}"):
                await change()
            assert await jobs.job(job.job_id) == job
            assert await jobs.outcomes(job.job_id) == []


async def job_that_is(jobs: JobStore, status: str, *, book_id: str) -> IngestionJob:
    job = await jobs.open(book_id, "incremental", "")
    if status == "queued":
        return job
    if status == "failed":
        return await jobs.fail(job.job_id, "first")
    job = await jobs.start(job.job_id)
    return job if status == "running" else await jobs.finish(job)


async def test_a_book_has_one_job_at_a_time(jobs: JobStore) -> None:
    job = await jobs.open("robots", "full", "")
    with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id}") as caught:
        await jobs.open("robots", "incremental", "")
    assert caught.value.advice
    await jobs.start(job.job_id)
    with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id}"):
        await jobs.open("robots", "incremental", "")
    other = await jobs.open("rust", "full", "")
    assert other.book_id == "rust"
    await jobs.finish(await jobs.job(job.job_id))
    again = await jobs.open("robots", "incremental", "")
    assert again.job_id > other.job_id


async def test_of_many_concurrent_opens_one_gets_the_job(jobs: JobStore) -> None:
    opened: list[IngestionJob] = []
    conflicts: list[JobAlreadyRunning] = []

    async def attempt() -> None:
        try:
            opened.append(await jobs.open("robots", "full", ""))
        except JobAlreadyRunning as error:
            conflicts.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(attempt)
    assert (len(opened), len(conflicts)) == (1, 9)


async def test_of_a_concurrent_finish_and_fail_one_wins(jobs: JobStore) -> None:
    for number in range(10):
        job = await running(jobs, f"book-{number}")
        won: list[IngestionJob] = []

        async def attempt(change: Change, won: list[IngestionJob] = won) -> None:
            with suppress(Conflict):
                won.append(await change())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(attempt, partial(jobs.finish, job))
            tasks.start_soon(attempt, partial(jobs.fail, job.job_id, "stopped"))
        assert won == [await jobs.job(job.job_id)]


@pytest.mark.parametrize("counter", sorted(COUNTED))
async def test_a_negative_counter_is_refused(jobs: JobStore, counter: str) -> None:
    job = await running(jobs)
    wrong = replace(job, **{counter: -1})
    for change in (jobs.finish(wrong), jobs.progress(wrong, OUTCOMES)):
        with pytest.raises(InvalidInput, match=counter):
            await change
    assert await jobs.job(job.job_id) == job
    assert await jobs.outcomes(job.job_id) == []


async def test_a_job_completes_only_when_every_file_is_accounted_for(jobs: JobStore) -> None:
    job = await running(jobs)
    for wrong in (
        replace(job, total_files=3, files_processed=1, files_skipped=1),
        replace(job, total_files=1, files_processed=1, files_skipped=1),
        replace(job, total_files=2, files_processed=1, files_skipped=1, files_failed=2),
    ):
        with pytest.raises(InvalidInput, match=f"Job {job.job_id}"):
            await jobs.finish(wrong)
    assert (await jobs.job(job.job_id)).status == "running"


async def test_a_job_takes_no_negative_time_when_the_clock_is_set_back(database: Database) -> None:
    elsewhere = (NOON - timedelta(hours=1)).astimezone(timezone(timedelta(hours=9)))
    times = iter([NOON, NOON + timedelta(seconds=90), elsewhere])
    jobs = SqlJobs(database, clock=lambda: next(times))
    job = await running(jobs)
    done = await jobs.finish(job)
    assert (done.queued_at, done.started_at) == (NOON, NOON + timedelta(seconds=90))
    assert done.completed_at == done.started_at
    assert done.duration_seconds == 0


async def test_the_given_time_of_completion_is_kept(jobs: JobStore) -> None:
    job = await running(jobs)
    assert job.started_at is not None
    end = job.started_at + timedelta(minutes=2)
    assert (await jobs.finish(replace(job, completed_at=end))).duration_seconds == 120


async def test_jobs_are_listed_newest_first(jobs: JobStore) -> None:
    failed_jobs = []
    for number in range(5):
        job = await jobs.open("robots" if number % 2 else "rust", "full", "")
        failed_jobs.append(await jobs.fail(job.job_id, "x"))
    newest_first = failed_jobs[::-1]
    assert await jobs.jobs() == newest_first
    assert await jobs.jobs(limit=2) == newest_first[:2]
    assert await jobs.jobs("robots") == [job for job in newest_first if job.book_id == "robots"]
    assert await jobs.jobs("robots", limit=10**30) == await jobs.jobs("robots")
    assert await jobs.jobs("absent") == []


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_list_of_no_jobs_cannot_be_asked_for(jobs: JobStore, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await jobs.jobs(limit=limit)


@pytest.mark.parametrize("job_id", [1, 0, -1, 2**31, 2**63, 10**30])
async def test_an_absent_job_is_not_found(jobs: JobStore, job_id: int) -> None:
    ghost = IngestionJob(job_id=job_id, book_id="b", mode="full", status="running", queued_at=NOON)
    for call in (
        jobs.job(job_id),
        jobs.outcomes(job_id),
        jobs.start(job_id),
        jobs.fail(job_id, "x"),
        jobs.requeue(job_id),
        jobs.finish(ghost),
        jobs.progress(ghost, OUTCOMES),
    ):
        with pytest.raises(NotFound, match=str(job_id)):
            await call


async def test_jobs_of_a_stopped_process_are_failed_and_can_be_opened_again(jobs: JobStore) -> None:
    queued = await jobs.open("queued", "full", "")
    started = await running(jobs, "running")
    done = await jobs.finish(await running(jobs, "done"))
    assert await jobs.interrupt_running() == 2
    assert await jobs.interrupt_running() == 0
    for job_id in (queued.job_id, started.job_id):
        job = await jobs.job(job_id)
        assert job.status == "failed"
        assert job.completed_at is not None
        assert job.error_message is not None
        assert "Interrupted" in job.error_message
    assert await jobs.job(done.job_id) == done
    assert (await jobs.open("running", "full", "")).status == "queued"


async def test_a_job_that_is_queued_again_has_done_nothing_yet_and_counts_its_attempts(jobs: JobStore) -> None:
    job = await running(jobs)
    assert job.attempt == 1
    for attempt in (2, 3):
        await jobs.progress(replace(job, **COUNTED), OUTCOMES)
        again = await jobs.requeue(job.job_id)
        assert again == replace(job, status="queued", started_at=None, attempt=attempt)
        assert await jobs.outcomes(job.job_id) == []
        with pytest.raises(JobAlreadyRunning):
            await jobs.open(job.book_id, "full", "")
        job = await jobs.start(job.job_id)
        assert (job.status, job.attempt) == ("running", attempt)
    done = await jobs.finish(replace(job, **COUNTED))
    assert (done.status, done.attempt) == ("completed", 3)


async def test_only_orphaned_jobs_of_this_holder_are_listed_oldest_first(database: Database) -> None:
    jobs, elsewhere = SqlJobs(database, holder="ours"), SqlJobs(database, holder="theirs")
    first = await running(jobs, "first")
    await running(elsewhere, "another holder's")
    await jobs.finish(await running(jobs, "done"))
    await jobs.fail((await running(jobs, "failed")).job_id, "x")
    second = await jobs.open("second", "full", "")
    first = await jobs.start((await jobs.requeue(first.job_id)).job_id)
    assert await SqlJobs(database, holder="ours").orphaned_jobs() == [first, second]
    assert await SqlJobs(database, holder="another").orphaned_jobs() == []


async def test_a_job_keeps_warnings_about_its_source(jobs: JobStore) -> None:
    job = await running(jobs)
    assert job.warnings == ()
    await jobs.progress(replace(job, warnings=("a.md: b.py is missing", "caf\udce9.md")), [])
    assert (await jobs.job(job.job_id)).warnings == ("a.md: b.py is missing", "caf\\udce9.md")
    assert (await jobs.requeue(job.job_id)).warnings == ()
    job = await jobs.start(job.job_id)
    await jobs.progress(replace(job, warnings=tuple(map(str, range(WARNINGS_MAX + 1)))), [])
    done = await jobs.finish(job)
    assert len(done.warnings) == WARNINGS_MAX
    assert done.warnings[-2:] == ("98", "… and 2 more.")


async def test_a_report_with_unstorable_characters_is_kept_with_escapes(jobs: JobStore) -> None:
    job = await running(jobs)
    odd = LessonOutcome(source_file="caf\udce9.md", status="failed", reason="encoding", message="a\x00b")
    await jobs.progress(job, [odd])
    assert await jobs.outcomes(job.job_id) == [
        replace(odd, source_file="caf\\udce9.md", message="a\\u0000b"),
    ]
    assert (await jobs.fail(job.job_id, "caf\udce9.md")).error_message == "caf\\udce9.md"


async def test_an_unreadable_book_id_is_refused_as_such(jobs: JobStore) -> None:
    with pytest.raises(InvalidInput) as caught:
        await jobs.open("a\x00", "full", "")
    assert isinstance(caught.value, BookwiseError)
    assert await jobs.jobs() == []
