"""`bookwise worker`, and `bookwise ingest` where workers share the data."""

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from tests.support.apps import write_book
from tests.support.databases import migrated_postgres, postgres
from tests.support.job_queues import job_ended
from tests.support.postgres import Postgres
from tests.support.program import run_program, running_program
from tests.support.qdrant_process import qdrant_process
from tests.support.workers import SharedServers

__all__ = ["migrated_postgres", "postgres"]

LESSONS = {f"lesson-{n:03}.md": f"# Lesson {n}\n\nJoint {n} bends as far as wire {n}.\n" for n in range(1, 41)}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"QDRANT_URL": "http://127.0.0.1:1"},
        {"DATABASE_URL": "postgresql://127.0.0.1:1/x"},
        {"QDRANT_URL": "http://127.0.0.1:1", "DATABASE_URL": "sqlite:///x.db"},
    ],
)
def test_a_worker_without_shared_servers_is_refused(tmp_path: Path, settings: dict[str, str]) -> None:
    ran = run_program("worker", "--json", folder=tmp_path, env={**os.environ, **settings})
    problem = json.loads(ran.stderr)["error"]
    assert (ran.returncode, ran.stdout, problem["code"]) == (6, "", "misconfigured")
    assert "DATABASE_URL and QDRANT_URL" in problem["advice"]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def servers(postgres: Postgres, migrated_postgres: str, tmp_path: Path) -> Iterator[SharedServers]:
    with postgres.new_database(like=migrated_postgres) as url, qdrant_process() as qdrant_url:
        yield SharedServers(database_url=url, qdrant_url=qdrant_url, folder=tmp_path)


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_ingest_needs_no_worker_and_leaves_its_job_to_one_when_it_is_killed(
    servers: SharedServers, tmp_path: Path
) -> None:
    root = write_book(tmp_path / "book", LESSONS)
    arguments, env = ("ingest", str(root), "--json"), servers.environment()
    ran = await anyio.to_thread.run_sync(partial(run_program, *arguments, folder=tmp_path, env=env))
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["job"]["status"], report["job"]["files_processed"]) == (0, "completed", 40)
    assert len(report["lessons"]) == 40
    write_book(root, {"late.md": "# Late\n\nA lesson that came later.\n"})
    async with servers.opened() as app:
        with running_program(*arguments, folder=tmp_path, env=env) as killed:
            while not [job for job in await app.jobs.jobs("book") if job.completed_at is None]:
                assert killed.returncode is None, "the job was too fast to be met"
            killed.kill()
        [job] = await app.jobs.jobs("book", limit=1)
        with servers.worker() as worker:
            done = await job_ended(app, job.job_id)
            worker.process.send_signal(signal.SIGTERM)
            assert await worker.ended() == 0
        assert (done.status, done.files_processed) == ("completed", 1)
