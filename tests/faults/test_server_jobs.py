"""A server that is killed or stopped while it ingests ends the job when it is back."""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from bookwise.ingestion.doctor import examine
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.program import RunningProgram
from tests.support.serve_process import serving

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COUNT = 400  #: six batches: enough to be met half-way
LESSONS = {
    f"lesson-{n:04}.md": f"# Lesson {n}\n\nJoint number {n} bends as far as wire number {n}.\n" for n in range(COUNT)
}


@asynccontextmanager
async def server(data: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, RunningProgram]]:
    """A client of a server process; the process is gone afterwards in any case."""
    async with (
        serving(data, BOOKWISE_EMBEDDER="hashing") as served,
        httpx2.AsyncClient(base_url=served.url, timeout=30) as client,
    ):
        yield client, served.process


async def job_when(client: httpx2.AsyncClient, job_id: int, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    with anyio.fail_after(120):
        while True:
            shown = (await client.get(f"/ingestion/status/{job_id}")).raise_for_status().json()
            job: dict[str, Any] = shown["job"]
            if fits(job):
                return job
            await anyio.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_job_that_a_stopped_server_was_running_is_ended_by_the_next_one(
    tmp_path: Path, how: signal.Signals
) -> None:
    data, root = tmp_path / "data", write_book(tmp_path / "book", {"first.md": "# First\n\nThe first lesson.\n"})
    async with hashing_app(data) as app:
        await ingested(app, root)
    write_book(root, LESSONS)

    async with server(data) as (client, process):
        triggered = (await client.post("/ingestion/trigger", json={"book_id": "book"})).raise_for_status().json()
        running = await job_when(client, triggered["job_id"], lambda job: job["files_processed"] > 0)
        assert running["status"] == "running", "the book is large enough to be met half-way"
        process.send_signal(how)
        with anyio.fail_after(60):
            await process.wait()

    async with server(data) as (client, process):
        done = await job_when(client, triggered["job_id"], lambda job: job["completed_at"] is not None)
        assert (done["status"], done["attempt"]) == ("completed", 2)
        assert done["files_processed"] + done["files_skipped"] == COUNT + 1
        assert done["files_processed"] <= COUNT + 1 - running["files_processed"], "only the rest was done again"
        jobs = (await client.get("/ingestion/jobs")).raise_for_status().json()["jobs"]
        assert [job["status"] for job in jobs] == ["completed", "completed"], "no other job was begun for it"
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(60):
            await process.wait()

    async with hashing_app(data) as app:
        assert await examine("book", index=app.index, catalog=app.catalog) == []
        assert (await found(app, "joint number 365 wire")).hits[0].chunk.locator.source_file == "lesson-0365.md"


async def test_a_job_that_a_killed_server_had_only_accepted_is_run_by_the_next_one(tmp_path: Path) -> None:
    data, root = tmp_path / "data", write_book(tmp_path / "book", {"first.md": "# First\n\nThe first lesson.\n"})
    async with hashing_app(data) as app:
        await ingested(app, root)
        accepted = await app.jobs.open("book", "incremental", str(root))
    async with server(data) as (client, _):
        done = await job_when(client, accepted.job_id, lambda job: job["completed_at"] is not None)
    assert (done["status"], done["attempt"]) == ("completed", 1)


async def test_a_command_runs_no_job_that_a_killed_server_left(tmp_path: Path) -> None:
    data, root = tmp_path / "data", write_book(tmp_path / "book", {"first.md": "# First\n\nThe first lesson.\n"})
    async with hashing_app(data) as app:
        await ingested(app, root)
        running = await app.jobs.start((await app.jobs.open("book", "incremental", str(root))).job_id)
    async with hashing_app(data) as app:
        left = await app.jobs.job(running.job_id)
    assert left.status == "failed"
    assert (left.error_message or "").startswith("Interrupted")
