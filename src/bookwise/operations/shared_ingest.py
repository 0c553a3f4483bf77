"""An ingest by a command on shared data: the command works on the job too, so it needs no other worker."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import anyio

from bookwise.domain.jobs import IngestionMode, LessonOutcome
from bookwise.ingestion.step_store import StepStore
from bookwise.operations.error_codes import job_error
from bookwise.operations.jobs import JobReport, ReadJob
from bookwise.operations.shared_jobs import SharedJobs
from bookwise.operations.worker import run_worker
from bookwise.wiring import App

CONCURRENCY = 2
POLL_SECONDS = 0.1

OnOutcome = Callable[[LessonOutcome], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIngest:
    """Opens a job and works on it together with the workers."""

    source: str
    book_id: str
    mode: IngestionMode

    async def run(self, app: App, steps: StepStore, on_outcome: OnOutcome = lambda outcome: None) -> JobReport:
        """The job at its end. Raises the error that ended it. When cancelled, it cancels the job."""
        job = await SharedJobs(app, steps).ingest(self.source, self.book_id, self.mode)
        try:
            report = await work_on_job(job.job_id, app, steps, on_outcome)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await steps.cancel(job.job_id)
            raise
        if report.job.status == "failed":
            raise job_error(job.job_id, report.job.error_message or "")
        return report


async def work_on_job(
    job_id: int, app: App, steps: StepStore, on_outcome: OnOutcome = lambda outcome: None
) -> JobReport:
    """Works on an open job together with the workers, if there are any, and returns it at its end."""
    stopping = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(run_worker, app, steps, concurrency=CONCURRENCY, stopping=stopping))
        report = await _follow(job_id, app, on_outcome)
        stopping.set()
    return report


async def _follow(job_id: int, app: App, on_outcome: OnOutcome) -> JobReport:
    count = 0
    while True:
        report = await ReadJob(job_id=job_id).run(app)
        for outcome in report.outcomes[count:]:
            on_outcome(outcome)
        if report.job.completed_at is not None:
            return report
        count = len(report.outcomes)
        await anyio.sleep(POLL_SECONDS)
