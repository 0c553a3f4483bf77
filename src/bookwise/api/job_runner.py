"""A trigger → an ingestion job that runs in the background; what a stop breaks off, the next start takes up again."""

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
DELIVERIES_REMEMBERED = 1_000
CANCELLED = "cancelled"
LOST = "Interrupted: the job's end could not be written down. Start the ingestion again to continue."
POISON = f"poison: the service stopped in the middle of this job {ATTEMPTS_MAX} times. Look for the reason in its log."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an ingest of a book would do."""

    changes: Changes
    unreadable: tuple[UnreadableFile, ...]


class JobRunner:
    """Runs the jobs of one open app. Whoever has an API key names a book, and its own source is read; only the
    operator names a source."""

    def __init__(self, app: App, tasks: TaskGroup) -> None:
        self.deliveries = Deliveries()
        self._app = app
        self._tasks = tasks
        self._opening = anyio.Lock()  #: whoever holds it sees every open job of this service in `_running`
        self._slots = anyio.Semaphore(JOBS_AT_ONCE)
        self._running: dict[int, tuple[str, anyio.CancelScope]] = {}
        self._over: set[int] = set()  #: jobs that ran here and run no more
        self._again: set[str] = set()  #: books to ingest once more when their job is over
        self._pushed: set[int] = set()  #: jobs that bring their folder to the head of its branch first
        self._work_trees = WorkTrees(
            app.settings.github_repository or "", app.settings.github_branch, environment=foreign_environment()
        )

    @property
    def is_busy(self) -> bool:
        """Whether a job runs, waits for its turn, or is about to follow another."""
        return bool(self._running or self._again)

    async def trigger(self, book_id: str, mode: IngestionMode = "incremental") -> IngestionJob:
        """Opens the job durably; it runs on its own. `JobAlreadyRunning` while the book has one."""
        return await self.ingest(await self._source(book_id), book_id, mode)

    async def ingest(self, source: str, book_id: str, mode: IngestionMode) -> IngestionJob:
        """The same from this source, for a book that is known or new."""
        async with self._opening:
            with anyio.CancelScope(shield=True):  # a job that was opened is also run, even if its caller is gone
                job = await self._opened(book_id, mode, source)
            self._begin(job)
        return job

    @asynccontextmanager
    async def pause_opening(self, book_id: str) -> AsyncIterator[None]:
        """No job opens inside the block. A job of the book whose end could not be recorded is failed first."""
        async with self._opening:
            await self._bury_lost(book_id)
            yield

    async def resume_jobs(self) -> None:
        """Runs what an earlier holder of the data folder left queued or running; what broke off too often fails."""
        for job in await self._app.jobs.orphaned_jobs():
            if self._app.settings.github_webhook_secret is not None:
                self._pushed.add(job.job_id)  # perhaps it was; an accepted push must not be lost
            if job.status == "queued":
                self._begin(job)
            elif job.attempt < ATTEMPTS_MAX:
                self._begin(await self._app.jobs.requeue(job.job_id))
            else:
                logger.error("ingestion.poison", extra={"job_id": job.job_id})
                await self._app.jobs.fail(job.job_id, POISON)

    async def trigger_latest(self, book_id: str) -> IngestionJob:
        """Ingests the head of the branch: at once, or right after the job that may have read the folder before.
        Then that one is returned."""
        try:
            return await self._trigger_pushed(book_id)
        except JobAlreadyRunning:
            job_id = next((job_id for job_id, (book, _) in self._running.items() if book == book_id), None)
            if job_id is None:  # another process runs it
                raise
            self._again.add(book_id)
            return await self._app.jobs.job(job_id)

    async def _trigger_pushed(self, book_id: str) -> IngestionJob:
        job = await self.trigger(book_id)
        self._pushed.add(job.job_id)
        return job

    async def cancel(self, job_id: int) -> IngestionJob:
        """The job ends as failed, "cancelled", after the lessons it is publishing; those stay published.
        A job that has ended stays as it is."""
        if job_id in self._running:
            book_id, scope = self._running[job_id]
            self._again.discard(book_id)
            scope.cancel()
            return await self._app.jobs.job(job_id)
        job = await self._app.jobs.job(job_id)
        if job.completed_at is None and not await self._bury_lost(job.book_id):
            raise JobAlreadyRunning(
                f"Job {job_id} is {job.status} in another process.", advice="Stop it where it was started."
            )
        return await self._app.jobs.job(job_id)

    async def changes(self, book_id: str) -> Difference:
        """What an incremental ingest would do now."""
        source = await self._source(book_id)
        if "://" in source:
            raise InvalidInput(
                f"The book {book_id!r} is read from a site; what has changed there shows only when it is fetched.",
                advice="Trigger an incremental ingestion: it changes nothing when nothing has changed.",
            )
        discovery = await _discovered(Path(source), book_id)
        records = await self._app.catalog.records(book_id)
        unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
        recipe = self._app.ingestion_kit.recipe
        found = changes(discovery.files, records, recipe, unreadable=unreadable)
        return Difference(changes=found, unreadable=discovery.unreadable)

    async def _source(self, book_id: str) -> str:
        book = await self._app.catalog.book(book_id)
        if not book.source:
            raise SourceNotFound(
                f"Nobody knows where the book {book_id!r} is read from.", advice="Run `bookwise ingest PATH` once."
            )
        return book.source

    async def _opened(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        kit = self._app.ingestion_kit
        try:
            return await open_job(book_id, kit, mode=mode, source=source)
        except JobAlreadyRunning:
            if not await self._bury_lost(book_id):
                raise
            return await open_job(book_id, kit, mode=mode, source=source)

    async def _bury_lost(self, book_id: str) -> bool:
        """Fails a job that ended here while the database could not be told, and still passes for running."""
        newest = await self._app.jobs.jobs(book_id, limit=1)
        if not newest or newest[0].job_id not in self._over:
            return False
        with suppress(Conflict):  # it ended a moment ago
            await self._app.jobs.fail(newest[0].job_id, LOST)
        return True

    def _begin(self, job: IngestionJob) -> None:
        scope = anyio.CancelScope()
        self._running[job.job_id] = (job.book_id, scope)
        self._tasks.start_soon(self._run, job, scope)

    async def _run(self, job: IngestionJob, scope: anyio.CancelScope) -> None:
        """The border of a job: what ends it is written down and does not reach the service."""
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
        except anyio.get_cancelled_exc_class():  # the service stops
            await (self._fail(job, CANCELLED) if scope.cancel_called else self._put_back(job))
            raise
        finally:
            del self._running[job.job_id]
            self._over.add(job.job_id)
            self._pushed.discard(job.job_id)
        if job.book_id in self._again:
            await self._follow(job.book_id)

    async def _fail(self, job: IngestionJob, reason: str) -> None:
        with anyio.CancelScope(shield=True), suppress(BookwiseError):  # it has ended, or the database is away
            await self._app.jobs.fail(job.job_id, reason)

    async def _put_back(self, job: IngestionJob) -> None:
        with anyio.CancelScope(shield=True), suppress(BookwiseError):  # it has not begun, has ended, or as above
            await self._app.jobs.requeue(job.job_id)

    async def _ingest(self, job: IngestionJob) -> None:
        async with self._slots:
            started = await self._app.jobs.start(job.job_id)
            if job.job_id in self._pushed and "://" not in job.source:
                await self._work_trees.pull(Path(job.source))
            copy = await local_copy(job.source, self._app.settings)
            discovery = await _discovered(copy.root, job.book_id)
            await run_job(started, discovery, copy.root, self._app.ingestion_kit)

    async def _follow(self, book_id: str) -> None:
        try:
            await self._trigger_pushed(book_id)
        except BookwiseError as error:
            logger.warning("ingestion.not-followed", extra={"book_id": book_id, "code": error.code})
        finally:
            self._again.discard(book_id)


class Deliveries:
    """Remembers the newest ids, so that what is delivered twice is done once."""

    def __init__(self, limit: int = DELIVERIES_REMEMBERED) -> None:
        self._limit = limit
        self._ids: dict[str, None] = {}  # in order of arrival

    def is_new(self, delivery_id: str) -> bool:
        """Whether the id was not seen before; from now on it was."""
        if delivery_id in self._ids:
            return False
        self._ids[delivery_id] = None
        if len(self._ids) > self._limit:
            del self._ids[next(iter(self._ids))]
        return True

    def forget(self, delivery_id: str) -> None:
        self._ids.pop(delivery_id, None)


@asynccontextmanager
async def open_job_runner(app: App) -> AsyncIterator[JobRunner]:
    """Takes up what was left behind. What still runs at the end of the block is queued again, for the next one."""
    async with anyio.create_task_group() as tasks:
        runner = JobRunner(app, tasks)
        try:
            await sweep_removed_books(app)
            await runner.resume_jobs()
            yield runner
        finally:
            tasks.cancel_scope.cancel()


async def _discovered(root: Path, book_id: str) -> Discovery:
    return await anyio.to_thread.run_sync(partial(discover, root, book_id=book_id))
