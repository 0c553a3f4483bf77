"""Replicas on one database and one index behave as one service, also while they are killed.

Two services and two workers are killed in turn while questions are asked and a book is ingested again and again. `make
replicas` asks 200 questions; with a Qdrant server it uses that one: `make replicas QDRANT_URL=http://localhost:6333`.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from bookwise.domain.jobs import IngestionJob
from bookwise.ingestion.doctor import examine
from bookwise.operations.shared_jobs import SharedJobs
from bookwise.wiring import App
from tests.support.apps import write_book
from tests.support.index_backends import LIVE_URL, drop_collections, live_address
from tests.support.job_queues import job_when
from tests.support.postgres import Postgres
from tests.support.qdrant_process import qdrant_process
from tests.support.replicas import Replicas, running_replicas
from tests.support.workers import SharedServers

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CHATS = int(os.environ.get("REPLICA_CHATS", "16"))
INGESTS = 5 if CHATS >= 200 else 3
LESSONS = 60
TOKEN = re.compile(r"zorb\d+")


@pytest.fixture
async def servers(postgres: Postgres, migrated_postgres: str, tmp_path: Path) -> AsyncIterator[SharedServers]:
    with postgres.new_database(like=migrated_postgres) as url:
        if LIVE_URL not in os.environ:
            with qdrant_process() as qdrant_url:
                yield SharedServers(database_url=url, qdrant_url=qdrant_url, folder=tmp_path)
            return
        live = live_address()
        servers = SharedServers(
            database_url=url, qdrant_url=live.url, qdrant_api_key=live.api_key or "", folder=tmp_path
        )
        yield servers
        await drop_collections(live, servers.collection)


def edition(number: int) -> dict[str, str]:
    return {
        f"lesson-{n:03}.md": f"# Valve zorb{n:03}\n\nThe zorb{n:03} valve opens at {n} degrees in edition {number}.\n"
        for n in range(1, LESSONS + 1)
    }


async def test_killed_replicas_lose_nothing(servers: SharedServers, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", edition(0))
    async with servers.opened() as app, running_replicas(servers) as replicas:
        assert app.steps is not None
        queue = SharedJobs(app, app.steps)
        await ended(app, await queue.ingest(str(root), "book", "incremental"))
        jobs: list[IngestionJob] = []
        async with anyio.create_task_group() as tasks:
            killing = anyio.CancelScope()
            tasks.start_soon(kill_within, killing, replicas)
            async with anyio.create_task_group() as readers:
                for first in range(4):
                    readers.start_soon(ask_in_turn, replicas, range(first, CHATS, 4))
                for number in range(1, INGESTS + 1):
                    write_book(root, edition(number))
                    jobs.append(await ended(app, await queue.trigger("book"), edition_of=number))
            killing.cancel()
        assert {job.status for job in jobs} == {"completed"}, jobs
        assert [job.files_processed for job in jobs] == [LESSONS] * INGESTS, "every lesson is counted once"
        assert {job.files_failed for job in jobs} == {0}
        assert await examine("book", index=app.index, catalog=app.catalog) == []
    assert len(replicas.killed) >= INGESTS, replicas.killed
    assert sum(worker.deaths() for worker in replicas.workers) >= 2


async def kill_within(scope: anyio.CancelScope, replicas: Replicas) -> None:
    with scope:
        await replicas.kill_in_turn()


async def ended(app: App, job: IngestionJob, *, edition_of: int = 0) -> IngestionJob:
    """The job at its end. Until then, readers see each lesson in the old edition or in the new one."""
    done = await job_when(app, job.job_id, lambda job: job.completed_at is not None, seconds=240)
    failed = [outcome for outcome in await app.jobs.outcomes(job.job_id) if outcome.status == "failed"]
    assert not failed, failed
    for record in await app.catalog.records("book"):
        chunks = await app.index.lesson("book", record.lesson_id)
        live = [chunk for chunk in chunks if chunk.revision == record.revision]
        assert len(live) == record.chunk_count
        assert f"in edition {edition_of}." in live[0].text
    return done


async def ask_in_turn(replicas: Replicas, numbers: range) -> None:
    for number in numbers:
        await check_answer(replicas, number % LESSONS + 1)


async def check_answer(replicas: Replicas, lesson: int) -> None:
    """Asks about one lesson: the answer is about that lesson, and a confirmed one is stored."""
    token = f"zorb{lesson:03}"
    while True:
        question = {"message": f"At how many degrees does the {token} valve open?", "session_id": str(uuid4())}
        response = await replicas.request("POST", "/chat/run", json=question)
        if response.status_code == 200:
            break
        # Not confirmed: a killed service leaves its session busy, and a busy machine is slow.
        assert response.status_code in (429, 503) or response.json()["code"] == "session-busy", response.text
        await anyio.sleep(float(response.headers.get("retry-after", "1")))
    answer: dict[str, Any] = response.json()
    assert answer["outcome"] == "answered", answer
    assert set(TOKEN.findall(answer["response"])) == {token}
    assert {source["page_title"] for source in answer["sources"]} == {f"Valve {token}"}
    stored = (await replicas.request("GET", f"/session/{question['session_id']}")).json()
    *repeated, asked, answered = [message["content"] for message in stored["messages"]]
    assert (asked, answered) == (question["message"], answer["response"])
    assert set(repeated[::2]) <= {asked}, "a request whose response was lost with a killed service was sent again"
