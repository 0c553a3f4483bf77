"""Ingestion over HTTP when workers run the jobs: the service only accepts, shows and cancels them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.api.app import create_app
from bookwise.api.state import ServiceState
from bookwise.operations.worker import run_worker
from bookwise.wiring import App
from tests.support.apps import write_book
from tests.support.databases import migrated_postgres, postgres
from tests.support.http_service import DELIBERATE
from tests.support.postgres import Postgres
from tests.support.qdrant_loopback import qdrant_loopback
from tests.support.workers import SharedServers

__all__ = ["migrated_postgres", "postgres"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LESSONS = {f"lesson-{n:03}.md": f"# Lesson {n}\n\nJoint {n} bends as far as wire {n}.\n" for n in range(1, 41)}


@pytest.fixture
def database_url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.new_database(like=migrated_postgres) as url:
        yield url


@pytest.fixture
async def servers(database_url: str, tmp_path: Path) -> AsyncIterator[SharedServers]:
    async with qdrant_loopback() as server:
        yield SharedServers(database_url=database_url, qdrant_url=server.url, folder=tmp_path, lease_seconds=20)


@asynccontextmanager
async def service(servers: SharedServers) -> AsyncIterator[tuple[httpx2.AsyncClient, App]]:
    app = create_app(servers.settings, embedder=HashingEmbedder())
    async with app.router.lifespan_context(app):
        state: ServiceState = app.state.service
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=DELIBERATE) as client:
            yield client, state.app


@asynccontextmanager
async def working(app: App) -> AsyncIterator[None]:
    assert app.steps is not None
    stopping = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: run_worker(app, app.steps, concurrency=2, stopping=stopping))
        yield
        stopping.set()


async def status(client: httpx2.AsyncClient, job_id: int) -> dict[str, Any]:
    shown: dict[str, Any] = (await client.get(f"/ingestion/status/{job_id}")).raise_for_status().json()
    return shown


async def ended(client: httpx2.AsyncClient, job_id: int) -> dict[str, Any]:
    with anyio.fail_after(30):
        while (shown := await status(client, job_id))["job"]["completed_at"] is None:  # noqa: ASYNC110
            await anyio.sleep(0.02)
    return shown


async def test_two_services_accept_and_cancel_jobs_that_workers_run(servers: SharedServers, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", LESSONS)
    async with service(servers) as (one, app), service(servers) as (two, _):
        assert app.steps is not None
        first = await app.steps.open("book", "incremental", str(root))
        async with working(app):
            done = await ended(two, first.job_id)
        assert (done["job"]["status"], done["job"]["files_processed"], len(done["lessons"])) == ("completed", 40, 40)

        write_book(root, {"late.md": "# Late\n\nA lesson that came later.\n"})
        accepted = await one.post("/ingestion/trigger", json={"book_id": "book"})
        assert (accepted.status_code, accepted.json()["status"]) == (202, "queued")
        job_id = accepted.json()["job_id"]
        refused = await two.post("/ingestion/trigger", json={"book_id": "book"})
        assert (refused.status_code, refused.json()["code"]) == (409, "job-exists")
        assert (await status(two, job_id))["job"]["status"] == "queued", "no service runs it"
        assert (await two.delete("/books/book")).status_code == 409

        cancelled = (await two.post(f"/ingestion/jobs/{job_id}/cancel")).raise_for_status().json()
        assert (cancelled["status"], cancelled["error_message"]) == ("failed", "cancelled")
        again = (await two.post("/ingestion/trigger", json={"book_id": "book"})).raise_for_status().json()["job_id"]
        async with working(app):
            assert (await ended(one, again))["job"]["files_processed"] == 1
        assert (await two.delete("/books/book")).status_code in (200, 204)
        assert (await one.post("/ingestion/trigger", json={"book_id": "book"})).status_code == 404
