"""The port for jobs that several workers share. Its docstrings are the contract, as in `bookwise.ports`."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from bookwise.domain.books import Book
from bookwise.domain.jobs import (
    IngestionJob,
    IngestionMode,
    JobPlan,
    JobStep,
    LessonOutcome,
    LessonRecord,
    PlannedLesson,
)


class StepStore(Protocol):
    """Stores what is left to do of jobs that workers share, and who does it.

    Only the newest claim of a step may change anything: every method with a step raises `StepLost` for an older claim,
    and after the end of the job. Each method is one transaction; a step that it creates is queued in the same one.
    """

    async def open(self, book_id: str, mode: IngestionMode, source: str, *, pull: bool = False) -> IngestionJob:
        """A queued job with its step `plan`. Raises `JobAlreadyRunning` while the book has an open job."""

    async def repeat(self, book_id: str) -> IngestionJob | None:
        """The open job of the book, which is ingested once more after it; None when there is none."""

    async def cancel(self, job_id: int) -> IngestionJob:
        """As `JobQueue.cancel`."""

    def pause_opening(self, book_id: str) -> AbstractAsyncContextManager[None]:
        """As `JobQueue.pause_opening`."""

    async def is_suspect(self, step_id: int) -> bool:
        """Whether a worker has died or timed out during the step. It must then run alone in its process: what runs
        beside it would count as a suspect too."""

    async def claim(self, step_id: int, *, lease_seconds: float) -> JobStep | None:
        """The step, reserved until the lease ends. None when there is nothing to do: it is done, or another claim holds
        it. A batch whose worker has died is split into single lessons instead; a lesson or job that did it three
        times is set aside as `poison`."""

    async def extend(self, step: JobStep, *, lease_seconds: float) -> None:
        """Renews the lease."""

    async def check(self, step: JobStep) -> None:
        """Raises `StepLost` unless this is still the newest claim."""

    async def release(self, step: JobStep, *, failed: bool = False) -> None:
        """Gives the step back to be run again; `failed` counts it as one of its tries."""

    async def add_batch(self, step: JobStep, number: int, batch: Sequence[PlannedLesson]) -> None:
        """Adds a batch to the plan; the first has number 1 and replaces those of an earlier attempt."""

    async def store_plan(
        self,
        step: JobStep,
        plan: JobPlan,
        *,
        total_files: int,
        warnings: Sequence[str],
        outcomes: Sequence[LessonOutcome],
    ) -> None:
        """Ends the step `plan`: from now on, workers run the batches."""

    async def plan(self, step: JobStep) -> JobPlan: ...

    async def lessons(self, step: JobStep) -> list[PlannedLesson]: ...

    async def commit(
        self, step: JobStep, book: Book, records: Sequence[LessonRecord], outcomes: Sequence[LessonOutcome]
    ) -> None:
        """Makes the lessons of a batch live, counts the outcomes and ends the step. A new book is registered."""

    async def close_book(self, step: JobStep, plan: JobPlan) -> list[LessonOutcome] | None:
        """Updates the book and withdraws deleted lessons; None when the book has no lesson and is not listed."""

    async def finish(self, step: JobStep) -> IngestionJob:
        """Ends the job as completed."""

    async def fail(self, step: JobStep, error_message: str) -> IngestionJob:
        """Ends the job as failed."""

    async def enqueue_free(self) -> int:
        """Queues the steps that no worker holds and that are not queued; returns their number."""
