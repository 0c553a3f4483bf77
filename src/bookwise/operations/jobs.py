"""Ingestion jobs: start, follow, list, cancel."""

from dataclasses import dataclass
from typing import Protocol

from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome
from bookwise.ports import JobQueue, JobStore


class JobsKit(Protocol):
    """Anything with a job store: the open app, or the catalog alone."""

    @property
    def jobs(self) -> JobStore: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListJobs:
    """The newest jobs."""

    book: str | None
    limit: int

    async def run(self, kit: JobsKit) -> list[IngestionJob]:
        return await kit.jobs.jobs(self.book, limit=self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """A job and the outcomes of its lessons."""

    job: IngestionJob
    outcomes: tuple[LessonOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJob:
    """A job with the outcome of every lesson so far."""

    job_id: int

    async def run(self, kit: JobsKit) -> JobReport:
        job = await kit.jobs.job(self.job_id)  # read first: a job that has ended has all its outcomes
        return JobReport(job=job, outcomes=tuple(await kit.jobs.outcomes(self.job_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestBook:
    """Starts a job in the service; the source is on the same machine."""

    source: str
    book_id: str
    mode: IngestionMode

    async def run(self, queue: JobQueue) -> IngestionJob:
        return await queue.ingest(self.source, self.book_id, self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob:
    job_id: int

    async def run(self, queue: JobQueue) -> IngestionJob:
        return await queue.cancel(self.job_id)
