"""Both ways to run ingestion jobs: in the process that accepts them, and in workers on a PostgreSQL queue."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import anyio
from pydantic import SecretStr

from bookwise.adapters.sql.queue_tables import prepare_queue_tables
from bookwise.adapters.sql.steps import SqlSteps
from bookwise.api.job_runner import open_job_runner
from bookwise.domain.jobs import IngestionJob
from bookwise.operations.shared_jobs import SharedJobs
from bookwise.operations.worker import run_worker
from bookwise.ports import JobQueue
from bookwise.settings import Settings
from bookwise.wiring import App, open_app
from bookwise.wiring.stores import open_stores
from tests.support.databases import ask
from tests.support.gated_embedder import GatedEmbedder

LEASE_SECONDS = 20.0  #: long enough for a busy machine


class QueueBackend(Protocol):
    """A job queue whose process can be stopped and killed."""

    app: App
    embedder: GatedEmbedder

    def running(self) -> AbstractAsyncContextManager[JobQueue]:
        """The queue while something runs its jobs. Leaving the block is a graceful stop."""

    async def leave_behind(self, root: Path, *, times: int) -> IngestionJob:
        """A job of the book "book" during which its process was killed this many times."""


@dataclass(slots=True, kw_only=True)
class InProcess:
    """Jobs run in the process that accepts them."""

    app: App
    embedder: GatedEmbedder

    def running(self) -> AbstractAsyncContextManager[JobQueue]:
        return open_job_runner(self.app)

    async def leave_behind(self, root: Path, *, times: int) -> IngestionJob:
        job = await self.app.jobs.open("book", "incremental", str(root))
        for _ in range(times - 1):
            await self.app.jobs.start(job.job_id)
            await self.app.jobs.requeue(job.job_id)
        return await self.app.jobs.start(job.job_id)


@dataclass(slots=True, kw_only=True)
class InWorkers:
    """Jobs run in two workers on a PostgreSQL queue."""

    app: App
    embedder: GatedEmbedder
    steps: SqlSteps

    @asynccontextmanager
    async def running(self) -> AsyncIterator[JobQueue]:
        stopping = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(self._work, stopping)
            yield SharedJobs(self.app, self.steps)
            stopping.set()

    async def _work(self, stopping: anyio.Event) -> None:
        await run_worker(self.app, self.steps, concurrency=2, stopping=stopping)

    async def leave_behind(self, root: Path, *, times: int) -> IngestionJob:
        job = await self.steps.open("book", "incremental", str(root))
        step_id = await ask(self.steps._database, f"SELECT step_id FROM job_steps WHERE job_id = {job.job_id}")
        for _ in range(times):
            assert await self.steps.claim(step_id, lease_seconds=0) is not None
        return await self.app.jobs.job(job.job_id)


@asynccontextmanager
async def in_process(data: Path) -> AsyncIterator[InProcess]:
    embedder = GatedEmbedder()
    async with open_app(Settings(data_dir=data, embedder="hashing"), take_over_jobs=True) as app:
        yield InProcess(app=replace(app, embedder=embedder), embedder=embedder)


@asynccontextmanager
async def in_workers(data: Path, url: str) -> AsyncIterator[InWorkers]:
    """The workers are tasks of this process, on the index of the data folder."""
    embedder = GatedEmbedder()
    settings = Settings(
        data_dir=data, embedder="hashing", database_url=SecretStr(url), worker_lease_seconds=LEASE_SECONDS
    )
    async with open_app(settings, take_over_jobs=True) as app, open_stores(url) as stores:
        await prepare_queue_tables(stores.database)
        steps = SqlSteps(stores.database, holder=app.index.id)
        yield InWorkers(app=replace(app, embedder=embedder), embedder=embedder, steps=steps)


async def job_when(app: App, job_id: int, fits: Callable[[IngestionJob], bool], seconds: float = 120) -> IngestionJob:
    """The job, as soon as it fits."""
    with anyio.fail_after(seconds):
        while True:
            if fits(job := await app.jobs.job(job_id)):
                return job
            await anyio.sleep(0.01)


async def job_ended(app: App, job_id: int) -> IngestionJob:
    return await job_when(app, job_id, lambda job: job.completed_at is not None, seconds=240)
