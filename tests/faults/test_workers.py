"""Workers that are killed, stopped, stuck or asked to stop: the job ends, and readers see every lesson old or new."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.sql.database import open_database
from bookwise.domain.jobs import IngestionJob, LessonOutcome
from bookwise.ingestion.doctor import examine
from bookwise.operations.doctor import DiagnoseBooks
from bookwise.operations.shared_ingest import SharedIngest
from bookwise.wiring import App
from tests.support.apps import found, write_book
from tests.support.databases import ask
from tests.support.job_queues import job_ended
from tests.support.postgres import Postgres
from tests.support.qdrant_process import qdrant_process
from tests.support.workers import SharedServers, WorkerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COUNT = 100  #: lessons: a few batches
LONG_LEASE = 600.0  #: nothing is taken over in the time of a test


def book(edition: int = 1, *, count: int = COUNT) -> dict[str, str]:
    return {
        f"lesson-{n:03}.md": f"# Lesson {n}\n\nJoint {n} of edition {edition} bends as far as wire {n}.\n"
        for n in range(1, count + 1)
    }


@pytest.fixture(scope="module")
def qdrant_url() -> Iterator[str]:
    with qdrant_process() as url:
        yield url


@pytest.fixture
def servers(postgres: Postgres, migrated_postgres: str, qdrant_url: str, tmp_path: Path) -> Iterator[SharedServers]:
    with postgres.new_database(like=migrated_postgres) as url:
        yield SharedServers(database_url=url, qdrant_url=qdrant_url, folder=tmp_path)


async def opened_job(app: App, root: Path) -> IngestionJob:
    assert app.steps is not None
    return await app.steps.open("book", "incremental", str(root))


async def outcomes_of(app: App, job: IngestionJob) -> dict[str, LessonOutcome]:
    """The outcomes by lesson, of which there is one for each."""
    stored = await app.jobs.outcomes(job.job_id)
    by_name = {outcome.source_file: outcome for outcome in stored}
    assert len(by_name) == len(stored)
    return by_name


async def test_workers_share_the_lessons_of_one_book(servers: SharedServers, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", book())
    patient = replace(servers, lease_seconds=LONG_LEASE)
    async with patient.opened() as app:
        with patient.worker("--concurrency", "1") as one, patient.worker("--concurrency", "1") as two:
            await one.ready()
            await two.ready()
            job = await opened_job(app, root)
            done = await job_ended(app, job.job_id)
        assert (done.status, done.files_processed, done.attempt) == ("completed", COUNT, 1)
        assert len(await outcomes_of(app, done)) == COUNT
        assert await examine("book", index=app.index, catalog=app.catalog) == []
        assert (await found(app, "joint 77 wire 77")).hits[0].chunk.locator.source_file == "lesson-077.md"
    published = [sum(report["published"] for report in worker.reports()) for worker in (one, two)]
    assert sum(published) == COUNT
    assert min(published) > 0, "both have worked"


async def test_a_worker_that_was_stopped_too_long_commits_nothing(servers: SharedServers, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", book())
    fault = {"FAULT": "stop", "FAULT_LESSON": "lesson-001.md", "FAULT_MARK": str(tmp_path / "stopped")}
    async with servers.opened() as app:
        job = await opened_job(app, root)
        with servers.worker("--concurrency", "1", **fault) as stalled:
            await until_stopped(stalled)
            with servers.worker() as other:
                done = await job_ended(app, job.job_id)
                assert (done.status, done.files_processed, done.files_failed) == ("completed", COUNT, 0)
                before = [record.revision for record in await app.catalog.records("book")]
                write_book(root, book(edition=2))
                newer = await opened_job(app, root)
                await job_ended(app, newer.job_id)
                after = {record.source_file: record.revision for record in await app.catalog.records("book")}
                os.kill(stalled.process.pid, signal.SIGCONT)
                with anyio.fail_after(120):
                    while "lost" not in [report["result"] for report in stalled.reports()]:  # noqa: ASYNC110
                        await anyio.sleep(0.05)
                other.process.kill()
        assert {record.source_file: record.revision for record in await app.catalog.records("book")} == after
        assert not set(before) & set(after.values())
        assert len(await outcomes_of(app, job)) == COUNT
        assert (await app.jobs.job(job.job_id)).attempt == 2
        hit = (await found(app, "joint 1 edition 2")).hits[0].chunk
        assert (hit.locator.source_file, "edition 2" in hit.text) == ("lesson-001.md", True)


async def until_stopped(worker: WorkerProcess) -> None:
    with anyio.fail_after(120):
        while not worker.is_stopped:  # noqa: ASYNC110 - the kernel sends no event
            await anyio.sleep(0.05)


@pytest.mark.parametrize("fault", ["kill", "hang"])
async def test_a_lesson_that_takes_three_workers_down_is_set_aside(
    servers: SharedServers, tmp_path: Path, fault: str
) -> None:
    root = write_book(tmp_path / "book", {**book(count=40), "poison.md": "# Poison\n\nNo parser survives this.\n"})
    more = {"RESTART": "1"} if fault == "kill" else {"BOOKWISE_WORKER_BATCH_SECONDS": "1"}
    async with servers.opened() as app:
        job = await opened_job(app, root)
        with servers.worker(FAULT=fault, FAULT_LESSON="poison.md", **more) as worker:
            done = await job_ended(app, job.job_id)
        assert (done.status, done.files_processed, done.files_failed) == ("completed", 40, 1)
        poison = (await outcomes_of(app, done))["poison.md"]
        assert (poison.status, poison.reason) == ("failed", "poison")
        assert len(await app.catalog.records("book")) == 40
        assert await examine("book", index=app.index, catalog=app.catalog) == []
    if fault == "kill":
        assert worker.deaths() == 3
    else:
        results = [report["result"] for report in worker.reports()]
        assert results.count("timed-out") == 3
        assert worker.log().count("takes jobs") == 4, "a worker that is stuck starts anew by itself"


async def test_a_worker_that_is_told_to_stop_hands_its_batch_back(servers: SharedServers, tmp_path: Path) -> None:
    patient = replace(servers, lease_seconds=LONG_LEASE)
    root = write_book(tmp_path / "book", book(count=5))
    held = "SELECT count(*) FROM job_steps WHERE kind = 'lessons' AND claimed_until IS NOT NULL"
    async with patient.opened() as app, open_database(servers.database_url) as database:
        job = await opened_job(app, root)
        with patient.worker(FAULT="hang", FAULT_LESSON="lesson-003.md") as stuck:
            with anyio.fail_after(120):
                while not await ask(database, held):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            stuck.process.send_signal(signal.SIGTERM)
            assert await stuck.ended() == 0, stuck.log()
        with patient.worker():
            done = await job_ended(app, job.job_id)
        assert (done.status, done.files_processed, done.attempt) == ("completed", 5, 1)


async def test_the_next_repair_finishes_one_that_was_killed(servers: SharedServers, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", book(count=3))
    async with servers.opened() as app:
        assert app.steps is not None
        await SharedIngest(source=str(root), book_id="book", mode="incremental").run(app, app.steps)
        await app.index.remove("book", list(await app.index.revisions("book")))
        with servers.worker("--repair", COMMAND="doctor", FAULT="kill", FAULT_LESSON="lesson-002.md") as doctor:
            assert await doctor.ended() == -signal.SIGKILL, doctor.log()
        (left,) = await app.jobs.jobs("book", limit=1)
        assert left.completed_at is None
        (diagnosis,) = (await DiagnoseBooks(repair=True).run(app)).books
        assert diagnosis.healthy
        assert (await app.jobs.job(left.job_id)).status == "completed"
        assert (await found(app, "joint 2 wire 2")).hits[0].chunk.locator.source_file == "lesson-002.md"
