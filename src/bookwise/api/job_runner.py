"""Runs ingestion jobs in the background. A job interrupted by a stop of the service resumes at the next start."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from bookwise.adapters.git import WorkTrees
from bookwise.domain.errors import BookwiseError, Conflict, InvalidInput, JobAlreadyRunning, SourceNotFound
from bookwise.domain.jobs import Changes, IngestionJob, IngestionMode, UnreadableFile
from bookwise.ingestion.discover import Discovery, discover
from bookwise.ingestion.pipeline import failure, open_job, run_job
from bookwise.ingestion.plan import changes
from bookwise.operations.books import sweep_removed_books
from bookwise.settings import foreign_environment
from bookwise.wiring import App, local_copy

JOBS_AT_ONCE = 2
ATTEMPTS_MAX = 3
CANCELLED = "cancelled"
LOST = "Interrupted: the end of the job could not be stored. Start the ingestion again to continue."
POISON = f"poison: the service stopped during this job {ATTEMPTS_MAX} times. See its log for the reason."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an ingest of a book would change."""

    changes: Changes
    unreadable: tuple[UnreadableFile, ...]


class JobRunner:
    """Runs the jobs of one app. API callers name a book, which is read from its own source; only the operator may name
    a source."""

    def __init__(self, app: App, tasks: TaskGroup) -> None:
        self._app = app
        self._tasks = tasks
        self._opening = anyio.Lock()  #: its holder sees every open job of this service in `_running`
        self._slots = anyio.Semaphore(JOBS_AT_ONCE)
        self._running: dict[int, tuple[str, anyio.CancelScope]] = {}
        self._ended: set[int] = set()  #: jobs that have ended in this process
        self._repeat: set[str] = set()  #: books to ingest again when their job has ended
        self._pulling: set[int] = set()  #: jobs that first pull the head of the branch
        self._work_trees = WorkTrees(
            app.settings.github_repository or "", app.settings.github_branch, environment=foreign_environment()
        )

    @property
    def is_busy(self) -> bool:
        """Whether a job is running, queued, or about to be repeated."""
        return bool(self._running or self._repeat)

    async def trigger(self, book_id: str, mode: IngestionMode = "incremental") -> IngestionJob:
        """Opens a job that runs in the background. Raises `JobAlreadyRunning` while the book has an open job."""
        return await self.ingest(await self._source(book_id), book_id, mode)

    async def ingest(self, source: str, book_id: str, mode: IngestionMode) -> IngestionJob:
        """Opens a job for a known or a new book, from this source."""
        async with self._opening:
            with anyio.CancelScope(shield=True):  # an opened job must run, even when its caller disconnects
                job = await self._open_job(book_id, mode, source)
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
            elif job.attempt < ATTEMPTS_MAX:
                self._begin(await self._app.jobs.requeue(job.job_id))
            else:
                logger.error("ingestion.poison", extra={"job_id": job.job_id})
                await self._app.jobs.fail(job.job_id, POISON)

    async def trigger_latest(self, book_id: str) -> IngestionJob:
        """Ingests the head of the branch. While the book has a running job, returns that job and ingests again after
        it."""
        try:
            return await self._trigger_pull(book_id)
        except JobAlreadyRunning:
            job_id = next((job_id for job_id, (book, _) in self._running.items() if book == book_id), None)
            if job_id is None:  # it runs in another process
                raise
            self._repeat.add(book_id)
            return await self._app.jobs.job(job_id)

    async def _trigger_pull(self, book_id: str) -> IngestionJob:
        job = await self.trigger(book_id)
        self._pulling.add(job.job_id)
        return job

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

    async def changes(self, book_id: str) -> Difference:
        """What an incremental ingest would change now."""
        source = await self._source(book_id)
        if "://" in source:
            raise InvalidInput(
                f"The book {book_id!r} is read from a site. Its changes are unknown until it is fetched.",
                advice="Trigger an incremental ingestion: it only replaces what has changed.",
            )
        discovery = await _discover(Path(source), book_id)
        records = await self._app.catalog.records(book_id)
        unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
        recipe = self._app.ingestion_kit.recipe
        difference = changes(discovery.files, records, recipe, unreadable=unreadable)
        return Difference(changes=difference, unreadable=discovery.unreadable)

    async def _source(self, book_id: str) -> str:
        book = await self._app.catalog.book(book_id)
        if not book.source:
            raise SourceNotFound(
                f"The source of the book {book_id!r} is unknown.", advice="Run `bookwise ingest PATH` once."
            )
        return book.source

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
            if job.job_id in self._pulling and "://" not in job.source:
                await self._work_trees.pull(Path(job.source))
            copy = await local_copy(job.source, self._app.settings)
            discovery = await _discover(copy.root, job.book_id)
            await run_job(started, discovery, copy.root, self._app.ingestion_kit)

    async def _ingest_again(self, book_id: str) -> None:
        try:
            await self._trigger_pull(book_id)
        except BookwiseError as error:
            logger.warning("ingestion.not-repeated", extra={"book_id": book_id, "code": error.code})
        finally:
            self._repeat.discard(book_id)


@asynccontextmanager
async def open_job_runner(app: App) -> AsyncIterator[JobRunner]:
    """Resumes orphaned jobs. Jobs still running at the end of the block are queued again for the next start."""
    async with anyio.create_task_group() as tasks:
        runner = JobRunner(app, tasks)
        try:
            await sweep_removed_books(app)
            await runner.resume_jobs()
            yield runner
        finally:
            tasks.cancel_scope.cancel()


async def _discover(root: Path, book_id: str) -> Discovery:
    return await anyio.to_thread.run_sync(partial(discover, root, book_id=book_id))
