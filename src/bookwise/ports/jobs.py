"""Ingestion jobs: where they are stored, and who runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a search should not load the types of jobs, threads and keys
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome


class JobStore(Protocol):
    """Stores ingestion jobs and their outcomes durably.

    States: queued → running → completed or failed; queued → failed; running → queued when the process stops.
    A completed or failed job never changes again; a transition that is not allowed raises `Conflict`.
    """

    async def open(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A new queued job. Raises `JobAlreadyRunning` while the book has a queued or running job."""

    async def start(self, job_id: int) -> IngestionJob:
        """Marks a queued job as running."""

    async def progress(self, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
        """Stores the counters of a running job and appends outcomes. Unchanged lessons are counted, but not listed."""

    async def finish(self, job: IngestionJob) -> IngestionJob:
        """Marks a running job as completed, with its final counters."""

    async def fail(self, job_id: int, error_message: str) -> IngestionJob:
        """Marks a queued or running job as failed."""

    async def job(self, job_id: int) -> IngestionJob:
        """The job with this id. Raises `NotFound`."""

    async def jobs(self, book_id: str | None = None, *, limit: int = 20) -> list[IngestionJob]:
        """The newest jobs first, of one book or of all."""

    async def outcomes(self, job_id: int) -> list[LessonOutcome]:
        """The stored outcomes of a job, oldest first. Raises `NotFound`."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes the jobs that ended before this time, except the newest of each book; returns their number."""

    async def requeue(self, job_id: int) -> IngestionJob:
        """Puts a running job back to queued for another attempt. Counters and outcomes are reset."""

    async def orphaned_jobs(self) -> list[IngestionJob]:
        """The jobs that an earlier process on this index left queued or running, oldest first."""

    async def interrupt_running(self) -> int:
        """Marks all orphaned jobs as failed; returns their number."""


class JobQueue(Protocol):
    """Runs ingestion jobs in the background, in this process or in workers. A book has one open job at a time.

    A job that its process left behind is resumed. A process that stops three times in the same place ends the job.
    """

    async def trigger(self, book_id: str, mode: IngestionMode = "incremental") -> IngestionJob:
        """Opens a job for a known book, from its own source. Raises `JobAlreadyRunning` and `NotFound`."""

    async def ingest(self, source: str, book_id: str, mode: IngestionMode) -> IngestionJob:
        """Opens a job for a known or a new book, from this source. Raises `JobAlreadyRunning`."""

    async def trigger_latest(self, book_id: str) -> IngestionJob:
        """Ingests the head of the branch. While the book has an open job, returns that job and ingests the book once
        more after it."""

    async def cancel(self, job_id: int) -> IngestionJob:
        """Stops a job after the lessons it is publishing, which stay published. The job fails with "cancelled" and is
        not repeated. A job that has ended does not change."""

    def pause_opening(self, book_id: str) -> AbstractAsyncContextManager[None]:
        """No job of the book opens inside the block."""
