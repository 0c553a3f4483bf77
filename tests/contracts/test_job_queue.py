"""What the port `JobQueue` promises, in the process that accepts the jobs and in workers."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bookwise.domain.errors import EmbedderMismatch, JobAlreadyRunning, NotFound
from bookwise.domain.jobs import TRIES_MAX, IngestionJob
from bookwise.ingestion.doctor import examine
from bookwise.ports import JobQueue
from tests.support.apps import found, write_book
from tests.support.job_queues import QueueBackend, in_process, in_workers, job_ended, job_when
from tests.support.postgres import Postgres

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # every test opens a data folder, half of them a database

FIRST = {"lesson-000.md": "# First\n\nThe very first lesson of all.\n"}
LESSONS = {f"lesson-{n:03}.md": f"# Lesson {n}\n\nJoint number {n} bends as far as wire {n}.\n" for n in range(1, 71)}


@pytest.fixture(params=["in process", "in workers on postgres"])
def queue_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The database of the workers; None: jobs run in the process that accepts them."""
    if request.param == "in process":
        yield None
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.new_database(like=request.getfixturevalue("migrated_postgres")) as url:
        yield url


@pytest.fixture
async def backend(queue_url: str | None, tmp_path: Path) -> AsyncIterator[QueueBackend]:
    data = tmp_path / "data"
    async with in_process(data) if queue_url is None else in_workers(data, queue_url) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_book(tmp_path / "book", FIRST)


async def first_ingest(queue: JobQueue, backend: QueueBackend, root: Path) -> IngestionJob:
    return await job_ended(backend.app, (await queue.ingest(str(root), "book", "incremental")).job_id)


async def half_done(queue: JobQueue, backend: QueueBackend, root: Path) -> IngestionJob:
    """A job of a book that is ingested already. It has published lessons, and waits to embed others."""
    write_book(root, LESSONS)
    backend.embedder.is_open = False
    job = await queue.trigger("book")
    backend.embedder.let_pass()
    return await job_when(backend.app, job.job_id, lambda job: job.files_processed > 0)


async def test_a_job_runs_to_its_end_and_counts_every_lesson(backend: QueueBackend, root: Path) -> None:
    write_book(root, LESSONS | {"lesson-002.md": "# Lesson 2\n\nThe wrist:\n\n{{#include wrist.rs}}\n"})
    (root / "broken.md").write_bytes(b"\xff\xfe\x00 broken \xd8")
    async with backend.running() as queue:
        first = await first_ingest(queue, backend, root)
        (root / "lesson-000.md").unlink()
        write_book(root, {"lesson-001.md": "# Lesson 1\n\nThe elbow replaces joint number 1.\n"})
        second = await job_ended(backend.app, (await queue.trigger("book")).job_id)
    assert (first.status, first.total_files, first.files_processed, first.files_failed) == ("completed", 72, 71, 1)
    assert (first.chunks_created, first.attempt) == (71, 1)
    assert [warning.partition(":")[0] for warning in first.warnings] == ["lesson-002.md"]
    assert (second.status, second.files_processed, second.files_skipped) == ("completed", 1, 70)
    assert (second.files_withdrawn, second.chunks_created, second.chunks_deleted) == (1, 1, 2)
    outcomes = {outcome.source_file: outcome.status for outcome in await backend.app.jobs.outcomes(second.job_id)}
    assert (outcomes["lesson-001.md"], outcomes["lesson-000.md"], outcomes["broken.md"]) == (
        "published",
        "withdrawn",
        "failed",
    )
    assert len(outcomes) == 3, "unchanged lessons are counted only"
    assert (await found(backend.app, "the elbow")).hits[0].chunk.locator.source_file == "lesson-001.md"
    assert await examine("book", index=backend.app.index, catalog=backend.app.catalog) == []
    assert (await backend.app.catalog.last_ingested("book"))[1] is not None


async def test_progress_is_visible_while_the_job_runs(backend: QueueBackend, root: Path) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        job = await half_done(queue, backend, root)
        assert (job.status, job.total_files) == ("running", 71)
        assert 0 < job.files_processed < 70
        stored = await backend.app.jobs.outcomes(job.job_id)
        assert sum(outcome.status == "published" for outcome in stored) >= job.files_processed
        backend.embedder.open()
        assert (await job_ended(backend.app, job.job_id)).files_processed == 70


async def test_a_book_has_one_open_job_at_a_time(backend: QueueBackend, root: Path, tmp_path: Path) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        job = await half_done(queue, backend, root)
        with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id}"):
            await queue.trigger("book")
        other = await queue.ingest(str(write_book(tmp_path / "other", FIRST)), "other", "incremental")
        backend.embedder.open()
        assert {(await job_ended(backend.app, each.job_id)).status for each in (job, other)} == {"completed"}


async def test_a_push_during_a_job_is_ingested_once_after_it(backend: QueueBackend, root: Path) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        job = await half_done(queue, backend, root)
        write_book(root, {"late.md": "# Late\n\nThis lesson was too late for the job.\n"})
        for _ in range(5):
            assert (await queue.trigger_latest("book")).job_id == job.job_id
        backend.embedder.open()
        await job_ended(backend.app, job.job_id)
        with anyio.fail_after(20):
            while (newest := (await backend.app.jobs.jobs("book"))[0]).job_id == job.job_id:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert (await job_ended(backend.app, newest.job_id)).status == "completed"
        assert "late.md" in {record.source_file for record in await backend.app.catalog.records("book")}
        assert len(await backend.app.jobs.jobs("book")) == 3, "the first ingest, the job, and one more"
        assert (await queue.trigger_latest("book")).job_id not in (job.job_id, newest.job_id)


async def test_a_cancelled_job_keeps_what_it_published_and_frees_the_book(backend: QueueBackend, root: Path) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        job = await half_done(queue, backend, root)
        await queue.trigger_latest("book")
        await queue.cancel(job.job_id)
        ended = await job_ended(backend.app, job.job_id)
        assert (ended.status, ended.error_message) == ("failed", "cancelled")
        assert await queue.cancel(job.job_id) == ended, "a job that has ended stays as it is"
        backend.embedder.open()
        assert len(await backend.app.jobs.jobs("book")) == 2, "a cancelled job is not repeated"
        live = await backend.app.catalog.records("book")
        assert len(live) == ended.files_processed + 1, "the job reports exactly what readers see"
        rest = await job_ended(backend.app, (await queue.trigger("book")).job_id)
        assert (rest.status, rest.files_processed) == ("completed", 70 - ended.files_processed)
    assert await examine("book", index=backend.app.index, catalog=backend.app.catalog) == []


async def test_a_new_book_is_not_listed_when_its_job_is_cancelled_before_the_first_lesson(
    backend: QueueBackend, root: Path
) -> None:
    backend.embedder.is_open = False
    async with backend.running() as queue:
        job = await queue.ingest(str(root), "book", "incremental")
        await job_when(backend.app, job.job_id, lambda job: job.total_files > 0)
        await queue.cancel(job.job_id)
        await job_ended(backend.app, job.job_id)
        backend.embedder.open()
        assert await backend.app.catalog.books() == []
        with pytest.raises(NotFound):
            await queue.trigger("book")


@pytest.mark.parametrize("times", [1, TRIES_MAX - 1])
async def test_a_job_whose_process_was_killed_is_run_by_the_next_one(
    backend: QueueBackend, root: Path, times: int
) -> None:
    left = await backend.leave_behind(root, times=times)
    assert left.status == "running"
    async with backend.running():
        done = await job_ended(backend.app, left.job_id)
    assert (done.status, done.attempt, done.files_processed) == ("completed", times + 1, 1)


async def test_a_job_that_kills_its_process_three_times_is_not_tried_again(backend: QueueBackend, root: Path) -> None:
    left = await backend.leave_behind(root, times=TRIES_MAX)
    async with backend.running() as queue:
        ended = await job_ended(backend.app, left.job_id)
        assert (ended.status, ended.files_processed) == ("failed", 0)
        assert (ended.error_message or "").startswith("poison: ")
        assert (await first_ingest(queue, backend, root)).status == "completed"


async def test_a_job_that_was_running_at_a_stop_is_completed_after_the_next_start(
    backend: QueueBackend, root: Path
) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        job = await half_done(queue, backend, root)
        backend.embedder.open()
    async with backend.running():
        done = await job_ended(backend.app, job.job_id)
    assert done.status == "completed"
    assert len(await backend.app.catalog.records("book")) == 71
    assert await examine("book", index=backend.app.index, catalog=backend.app.catalog) == []


async def test_a_job_whose_source_is_gone_fails_and_frees_the_book(backend: QueueBackend, root: Path) -> None:
    async with backend.running() as queue:
        failed = await job_ended(backend.app, (await queue.ingest(str(root / "absent"), "book", "full")).job_id)
        assert (failed.error_message or "").startswith("source-not-found: ")
        assert (await first_ingest(queue, backend, root)).status == "completed"


async def test_a_book_of_another_embedder_is_refused_when_the_job_is_opened(backend: QueueBackend, root: Path) -> None:
    async with backend.running() as queue:
        await first_ingest(queue, backend, root)
        book = await backend.app.catalog.book("book")
        await backend.app.catalog.register(replace(book, embedder="another"))
        with pytest.raises(EmbedderMismatch):
            await queue.trigger("book")
        assert (await job_ended(backend.app, (await queue.trigger("book", "recreate")).job_id)).status == "completed"


async def test_no_job_opens_while_opening_is_paused(backend: QueueBackend, root: Path) -> None:
    refused: list[JobAlreadyRunning] = []

    async def ingest(queue: JobQueue) -> None:
        try:
            await queue.ingest(str(root), "book", "incremental")
        except JobAlreadyRunning as error:
            refused.append(error)

    async with backend.running() as queue, anyio.create_task_group() as callers:
        async with queue.pause_opening("book"):
            callers.start_soon(ingest, queue)  # it waits, or is refused
            await anyio.sleep(0.3)
            assert await backend.app.jobs.jobs("book") == []
        if refused:
            await queue.ingest(str(root), "book", "incremental")
        with anyio.fail_after(10):
            while not (jobs := await backend.app.jobs.jobs("book")):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert (await job_ended(backend.app, jobs[0].job_id)).status == "completed"
