"""A worker: claims steps of ingestion jobs, runs them and keeps their leases."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from bookwise.adapters.sql.step_messages import queue_of
from bookwise.domain.errors import BookwiseError, StepLost, StoreUnavailable, Unavailable
from bookwise.domain.jobs import JobStep, LessonOutcome
from bookwise.ingestion.discover import Discovery
from bookwise.ingestion.pipeline import failure
from bookwise.ingestion.step_store import StepStore
from bookwise.ingestion.steps import run_step
from bookwise.operations.sources import Sources
from bookwise.wiring import App, database_url

RETRY_PAUSES = (2.0, 10.0, 30.0)  #: seconds between tries of a step that needs something unavailable
GRACE_SECONDS = 20.0  #: how long running steps may go on after a stop, before they are handed back

StepResult: TypeAlias = Literal["done", "failed", "handed-back", "lost", "timed-out"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """How much a worker does at a time, and for how long."""

    concurrency: int  #: steps at a time
    lease_seconds: float  #: after which a step of a silent worker is taken over
    batch_seconds: float  #: longest time for one batch of lessons


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What a worker did with a step."""

    step: JobStep
    result: StepResult
    outcomes: tuple[LessonOutcome, ...] = ()
    error: str = ""
    seconds: float = 0.0


OnReport = Callable[[StepReport], None]


class StepWorker:
    """Runs steps by their id, several at a time."""

    def __init__(self, app: App, steps: StepStore, limits: WorkerLimits, on_report: OnReport, tasks: TaskGroup) -> None:
        self._app = app
        self._steps = steps
        self._limits = limits
        self._on_report = on_report
        self._tasks = tasks
        self._sources = Sources(app)
        self._slots = anyio.Semaphore(limits.concurrency)
        self._taking_all_slots = anyio.Lock()
        self.timed_out = anyio.Event()  #: set when a batch was abandoned; its thread may still be running

    async def run(self, step_id: int) -> None:
        """Claims the step and runs it. An error ends the job, or the step is run again; it is never raised."""
        try:
            slots = self._limits.concurrency if await self._steps.is_suspect(step_id) else 1
            async with self._taking(slots):
                await self._claim_and_run(step_id)
        except BookwiseError as error:  # the step stays free, and is queued again
            logger.warning("worker.no-claim", extra={"step_id": step_id, "code": error.code})

    @asynccontextmanager
    async def _taking(self, slots: int) -> AsyncIterator[None]:
        """Takes one slot or all of them. Whatever runs when the process dies counts as the reason for it."""
        async with AsyncExitStack() as taken:
            if slots > 1:
                await taken.enter_async_context(self._taking_all_slots)
            for _ in range(slots):
                await taken.enter_async_context(self._slots)
            yield

    async def _claim_and_run(self, step_id: int) -> None:
        step = await self._steps.claim(step_id, lease_seconds=self._limits.lease_seconds)
        if step is None:
            return
        began = time.monotonic()
        result, outcomes, error = await self._run(step)
        seconds = time.monotonic() - began
        self._on_report(StepReport(step=step, result=result, outcomes=tuple(outcomes), error=error, seconds=seconds))

    async def enqueue_free_steps(self) -> None:
        """Queues, again and again, what a dead worker or a lost message has left behind."""
        while True:
            try:
                await self._steps.enqueue_free()
            except BookwiseError as error:
                logger.warning("worker.database-unavailable", extra={"code": error.code})
            await anyio.sleep(self._limits.lease_seconds / 3)

    async def _run(self, step: JobStep) -> tuple[StepResult, list[LessonOutcome], str]:
        limit = self._limits.batch_seconds if step.kind == "lessons" else None
        try:
            with anyio.move_on_after(limit) as limited:
                async with self._keeping_lease(step, limited.deadline):
                    return "done", await self._run_patiently(step), ""
        except StepLost:
            return "lost", [], ""
        except StoreUnavailable as error:  # the job cannot be failed in a store that is away, and need not be
            return await self._end(step, "handed-back", self._steps.release(step, failed=True), failure(error))
        except BookwiseError as error:
            return await self._end(step, "failed", self._steps.fail(step, failure(error)), failure(error))
        except Exception as error:
            logger.exception("worker.bug", extra={"job_id": step.job.job_id})
            return await self._end(step, "failed", self._steps.fail(step, failure(error)), failure(error))
        except anyio.get_cancelled_exc_class():  # the worker is stopping
            self._on_report(StepReport(step=step, result="handed-back"))
            await self._end(step, "handed-back", self._steps.release(step))
            raise
        if limited.cancelled_caught:
            self.timed_out.set()
            error_message = f"The batch took longer than {limit:g} s."
            return await self._end(step, "timed-out", self._steps.release(step, failed=True), error_message)
        return "lost", [], ""

    async def _run_patiently(self, step: JobStep) -> list[LessonOutcome]:
        """Runs the step; tries again while the index, the embedder or the database is unavailable for a short time."""
        for pause in RETRY_PAUSES:
            try:
                return await run_step(step, self._steps, self._app.ingestion_kit, self._discover)
            except Unavailable as error:
                logger.warning("worker.retry", extra={"job_id": step.job.job_id, "code": error.code, "after": pause})
                await anyio.sleep(pause)
        return await run_step(step, self._steps, self._app.ingestion_kit, self._discover)

    async def _end(
        self, step: JobStep, result: StepResult, change: Awaitable[object], error: str = ""
    ) -> tuple[StepResult, list[LessonOutcome], str]:
        """Stores the end of the step. If that fails, the lease ends and the step is run again."""
        try:
            with anyio.CancelScope(shield=True):
                await change
        except StepLost:
            return "lost", [], error
        except BookwiseError as problem:
            logger.warning("worker.not-stored", extra={"job_id": step.job.job_id, "code": problem.code})
        return result, [], error

    @asynccontextmanager
    async def _keeping_lease(self, step: JobStep, deadline: float) -> AsyncIterator[None]:
        """Cancels the block when another worker has taken the step over. After the deadline the lease is not renewed,
        even if the work cannot be cancelled."""
        keeping = anyio.CancelScope(deadline=deadline)
        with anyio.CancelScope() as working:
            self._tasks.start_soon(self._keep_lease, step, keeping, working)
            try:
                yield
            finally:
                keeping.cancel()

    async def _keep_lease(self, step: JobStep, keeping: anyio.CancelScope, working: anyio.CancelScope) -> None:
        with keeping:
            while True:
                await anyio.sleep(self._limits.lease_seconds / 4)
                try:
                    await self._steps.extend(step, lease_seconds=self._limits.lease_seconds)
                except StepLost:
                    working.cancel()
                    return
                except BookwiseError as error:
                    logger.warning("worker.lease-not-renewed", extra={"job_id": step.job.job_id, "code": error.code})

    async def _discover(self, step: JobStep) -> tuple[Discovery, Path]:
        return await self._sources.discover(step.job.source, step.job.book_id, pull=step.pull)


@asynccontextmanager
async def open_step_worker(
    app: App, steps: StepStore, limits: WorkerLimits, *, on_report: OnReport = lambda report: None
) -> AsyncIterator[StepWorker]:
    """A worker that also queues what others have left behind."""
    async with anyio.create_task_group() as tasks:
        worker = StepWorker(app, steps, limits, on_report, tasks)
        tasks.start_soon(worker.enqueue_free_steps)
        try:
            yield worker
        finally:
            tasks.cancel_scope.cancel()


async def run_worker(
    app: App, steps: StepStore, *, concurrency: int, stopping: anyio.Event, on_report: OnReport = lambda report: None
) -> bool:
    """Runs steps of jobs until `stopping` is set. Returns whether the process should be replaced by a new one: a thread
    that reads a lesson cannot be stopped, so after a timeout it may go on for ever."""
    from bookwise.adapters.step_queue import QueueOptions, take_steps  # loads procrastinate: 0.5 s

    settings = app.settings
    limits = WorkerLimits(
        concurrency=concurrency,
        lease_seconds=settings.worker_lease_seconds,
        batch_seconds=settings.worker_batch_seconds,
    )
    options = QueueOptions(
        queue=queue_of(app.index.id),
        concurrency=concurrency,
        lease_seconds=limits.lease_seconds,
        grace_seconds=GRACE_SECONDS,
    )
    async with open_step_worker(app, steps, limits, on_report=on_report) as worker, anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_after_timeout, worker, stopping)
        await take_steps(database_url(settings), options, worker.run, stopping)
        tasks.cancel_scope.cancel()
    return worker.timed_out.is_set()


async def _stop_after_timeout(worker: StepWorker, stopping: anyio.Event) -> None:
    await worker.timed_out.wait()
    stopping.set()
