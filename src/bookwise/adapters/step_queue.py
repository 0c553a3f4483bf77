"""Takes steps from the queue in PostgreSQL and runs them. Loads procrastinate and psycopg: 0.5 s.

The library wakes a worker, hands each message to one of them and stops them gracefully. A message is only a hint: which
worker may run a step, and for how long, is decided by the claim in Bookwise's own tables.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import psycopg
import psycopg_pool
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import JobManager
from procrastinate.worker import Worker

from bookwise.adapters.sql.address import parse_address
from bookwise.adapters.sql.step_messages import STEP_TASK

POLL_SECONDS = 1.0  #: looks for messages this often; through a pooler, or during a look, a notification is lost
RECONNECT_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions:
    """How a worker takes steps."""

    queue: str
    concurrency: int
    lease_seconds: float
    grace_seconds: float  #: how long running steps may go on after a stop


class _Messages(JobManager):
    """The messages in the queue. One that cannot be removed is left behind: it is only a hint."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        with suppress(ProcrastinateException):  # another worker has removed it, or the database is away
            await super().finish_job(job, status, delete_job)


async def take_steps(
    url: str, options: QueueOptions, run: Callable[[int], Awaitable[None]], stopping: anyio.Event
) -> None:
    """Runs queued steps until `stopping` is set. Then running steps may end; after `grace_seconds` they are cancelled.

    Connects again after the connection to the database was lost.
    """
    while not stopping.is_set():
        app = _queue_app(url, options, run)
        try:
            async with app.open_async():
                await _work(app, options, stopping)
        except* (ProcrastinateException, psycopg.Error, psycopg_pool.PoolTimeout, OSError) as group:
            reasons = sorted({type(error).__name__ for error in group.exceptions})
            logger.warning("worker.queue-unavailable", extra={"reasons": reasons})
        with anyio.move_on_after(RECONNECT_SECONDS):
            await stopping.wait()


def _queue_app(url: str, options: QueueOptions, run: Callable[[int], Awaitable[None]]) -> App:
    connector = PsycopgConnector(
        conninfo=parse_address(url).location,
        min_size=1,
        max_size=options.concurrency + 2,
        kwargs={"prepare_threshold": None},  # a pooler may give each transaction another session of the server
    )
    app = App(connector=connector)
    app.job_manager = _Messages(connector)

    @app.task(name=STEP_TASK)
    async def run_step(step_id: int) -> None:
        await run(step_id)

    return app


async def _work(app: App, options: QueueOptions, stopping: anyio.Event) -> None:
    worker = Worker(
        app=app,
        queues=[options.queue],
        concurrency=options.concurrency,
        install_signal_handlers=False,
        delete_jobs=DeleteJobCondition.ALWAYS,
        fetch_job_polling_interval=POLL_SECONDS,
        shutdown_graceful_timeout=options.grace_seconds,
        update_heartbeat_interval=options.lease_seconds / 3,
        stalled_worker_timeout=options.lease_seconds,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_when_set, worker, stopping)
        tasks.start_soon(_remove_stalled, app, options)
        await worker.run()  # type: ignore[no-untyped-call]
        tasks.cancel_scope.cancel()


async def _stop_when_set(worker: Worker, stopping: anyio.Event) -> None:
    await stopping.wait()
    worker.stop()  # type: ignore[no-untyped-call]


async def _remove_stalled(app: App, options: QueueOptions) -> None:
    """Removes messages that a dead worker has taken. Their steps are queued again when their leases end."""
    while True:
        await anyio.sleep(options.lease_seconds)
        with suppress(ProcrastinateException):  # the database is away
            silence = 2 * options.lease_seconds
            for job in await app.job_manager.get_stalled_jobs(queue=options.queue, seconds_since_heartbeat=silence):
                await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
