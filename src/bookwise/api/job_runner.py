"""Runs ingestion jobs in the background of this process. A job interrupted by a stop resumes at the next start."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from bookwise.domain.errors import BookwiseError, Conflict, DiskFull, JobAlreadyRunning
from bookwise.domain.jobs import CANCELLED, TRIES_MAX, IngestionJob, IngestionMode
from bookwise.ingestion.pipeline import failure, open_job, run_job
from bookwise.operations.book_jobs import BookJobs
from bookwise.operations.books import sweep_removed_books
from bookwise.operations.shared_jobs import SharedJobs
from bookwise.operations.sources import Sources, source_of
from bookwise.ports import JobQueue
from bookwise.wiring import App

JOBS_AT_ONCE = 2
LOST = "Interrupted: the end of the job could not be stored. Start the ingestion again to continue."
POISON = f"poison: the service stopped during this job {TRIES_MAX} times. See its log for the reason."

logger = logging.getLogger(__name__)


class JobRunner(BookJobs):
    """Runs the jobs of one app."""

    def __init__(self, app: App, tasks: TaskGroup) -> None:
        super().__init__(app)
        self._tasks = tasks
        self._opening = anyio.Lock()  #: its holder sees every open job of this service in `_running`
        self._slots = anyio.Semaphore(JOBS_AT_ONCE)
        self._running: dict[int, tuple[str, anyio.CancelScope]] = {}
        self._ended: set[int] = set()  #: jobs that have ended in this process
        self._repeat: set[str] = set()  #: books to ingest again when their job has ended
        self._pulling: set[int] = set()  #: jobs that first pull the head of the branch
        self._sources = Sources(app)

    @property
    def is_busy(self) -> bool:
        """Whether a job is running, queued, or about to be repeated."""
        return bool(self._running or self._repeat)

    async def ingest(self, source: str, book_id: str, mode: IngestionMode, *, pull: bool = False) -> IngestionJob:
        async with self._opening:
            with anyio.CancelScope(shield=True):  # an opened job must run, even when its caller disconnects
                job = await self._open_job(book_id, mode, source)
            if pull:
                self._pulling.add(job.job_id)
            self._begin(job)
        return job

    @asynccontextmanager
    async def pause_opening(self, book_id: str) -> AsyncIterator[None]:
        """No job opens inside the block. A job of the book whose end could not be recorded is failed first."""
        async with self._opening:
            await self._fail_lost_job(book_id)
            yield

    async def resume_jobs(self) -> None:
        """Resumes jobs that an earlier process left queued or running. Jobs that were interrupted too often fail."""
        for job in await self._app.jobs.orphaned_jobs():
            if self._app.settings.github_webhook_secret is not None:
                self._pulling.add(job.job_id)  # it may come from a push, which must not be lost
            if job.status == "queued":
                self._begin(job)
            elif job.attempt < TRIES_MAX:
                self._begin(await self._app.jobs.requeue(job.job_id))
            else:
                logger.error("ingestion.poison", extra={"job_id": job.job_id})
                await self._app.jobs.fail(job.job_id, POISON)

    async def resume_pushes(self) -> None:
        """Ingests the books whose last job began before the newest push: an earlier process may have stopped before it
        opened the job that was to follow."""
        if self._app.settings.github_webhook_secret is None:
            return
        if (pushed_at := await self._app.deliveries.newest()) is None:
            return
        for book in await self._app.catalog.books():
            if book.source and "://" not in book.source and await self._is_behind(book.id, pushed_at):
                await self._ingest_again(book.id)

    async def _is_behind(self, book_id: str, pushed_at: datetime) -> bool:
        """Whether no job of the book has begun since the push. A cancelled job is not repeated."""
        newest = await self._app.jobs.jobs(book_id, limit=1)
        if not newest or newest[0].error_message == CANCELLED:
            return False
        job = newest[0]
        return job.completed_at is not None and (job.started_at is None or job.started_at < pushed_at)

    async def repeat(self, book_id: str) -> IngestionJob | None:
        job_id = next((job_id for job_id, (book, _) in self._running.items() if book == book_id), None)
        if job_id is None:  # it has ended, or runs in another process
            return None
        self._repeat.add(book_id)
        return await self._app.jobs.job(job_id)

    async def cancel(self, job_id: int) -> IngestionJob:
        """Stops a job after the lessons it is publishing, which stay published. The job fails with "cancelled".
        A job that has ended does not change."""
        if job_id in self._running:
            book_id, scope = self._running[job_id]
            self._repeat.discard(book_id)
            scope.cancel()
            return await self._app.jobs.job(job_id)
        job = await self._app.jobs.job(job_id)
        if job.completed_at is None and not await self._fail_lost_job(job.book_id):
            raise JobAlreadyRunning(
                f"Job {job_id} is {job.status} in another process.", advice="Stop it in that process."
            )
        return await self._app.jobs.job(job_id)

    async def _open_job(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        kit = self._app.ingestion_kit
        try:
            return await open_job(book_id, kit, mode=mode, source=source)
        except JobAlreadyRunning:
            if not await self._fail_lost_job(book_id):
                raise
            return await open_job(book_id, kit, mode=mode, source=source)

    async def _fail_lost_job(self, book_id: str) -> bool:
        """Fails a job that has ended in this process while the database was unavailable, and still counts as open."""
        newest = await self._app.jobs.jobs(book_id, limit=1)
        if not newest or newest[0].job_id not in self._ended:
            return False
        with suppress(Conflict):  # it has just ended
            await self._app.jobs.fail(newest[0].job_id, LOST)
        return True

    def _begin(self, job: IngestionJob) -> None:
        scope = anyio.CancelScope()
        self._running[job.job_id] = (job.book_id, scope)
        self._tasks.start_soon(self._run, job, scope)

    async def _run(self, job: IngestionJob, scope: anyio.CancelScope) -> None:
        """Runs a job and stores how it ends. No exception of a job reaches the service."""
        try:
            with scope:
                await self._ingest(job)
            if scope.cancelled_caught:
                await self._fail(job, CANCELLED)
        except BookwiseError as error:
            logger.warning("ingestion.failed", extra={"job_id": job.job_id, "code": error.code})
            await self._fail(job, failure(error))
        except Exception as error:
            logger.exception("ingestion.bug", extra={"job_id": job.job_id})
            await self._fail(job, failure(error))
        except anyio.get_cancelled_exc_class():  # the service is stopping
            await (self._fail(job, CANCELLED) if scope.cancel_called else self._requeue(job))
            raise
        finally:
            del self._running[job.job_id]
            self._ended.add(job.job_id)
            self._pulling.discard(job.job_id)
        if job.book_id in self._repeat:
            await self._ingest_again(job.book_id)

    async def _fail(self, job: IngestionJob, reason: str) -> None:
        with anyio.CancelScope(shield=True), suppress(BookwiseError):  # it has ended, or the database is unavailable
            await self._app.jobs.fail(job.job_id, reason)

    async def _requeue(self, job: IngestionJob) -> None:
        with (
            anyio.CancelScope(shield=True),
            suppress(BookwiseError),
        ):  # it has not started, has ended, or the database is unavailable
            await self._app.jobs.requeue(job.job_id)

    async def _ingest(self, job: IngestionJob) -> None:
        async with self._slots:
            started = await self._app.jobs.start(job.job_id)
            pull = job.job_id in self._pulling
            discovery, root = await self._sources.discover(job.source, job.book_id, pull=pull)
            await run_job(started, discovery, root, self._app.ingestion_kit)

    async def _ingest_again(self, book_id: str) -> None:
        try:
            await self.ingest(await source_of(book_id, self._app), book_id, "incremental", pull=True)
        except BookwiseError as error:
            logger.warning("ingestion.not-repeated", extra={"book_id": book_id, "code": error.code})
        finally:
            self._repeat.discard(book_id)


async def _sweep_removed_books(app: App) -> None:
    try:
        await sweep_removed_books(app)
    except DiskFull as error:  # readers are served all the same, and the next start sweeps
        logger.warning("%s", error.message, extra={"code": error.code})


@asynccontextmanager
async def open_job_runner(app: App) -> AsyncIterator[JobRunner]:
    """Resumes orphaned jobs. Jobs still running at the end of the block are queued again for the next start."""
    async with anyio.create_task_group() as tasks:
        runner = JobRunner(app, tasks)
        try:
            await _sweep_removed_books(app)
            await runner.resume_jobs()
            await runner.resume_pushes()
            yield runner
        finally:
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def open_job_queue(app: App) -> AsyncIterator[JobQueue]:
    """The queue for the jobs of this app: the workers' when data is shared, otherwise this process runs them."""
    if app.steps is not None:
        yield SharedJobs(app, app.steps)
        return
    async with open_job_runner(app) as runner:
        yield runner
