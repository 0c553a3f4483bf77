"""Jobs that workers run: a process that accepts them only stores and queues them."""

from contextlib import AbstractAsyncContextManager

from bookwise.domain.jobs import IngestionJob, IngestionMode
from bookwise.ingestion.stages import require_ingestible
from bookwise.ingestion.step_store import StepStore
from bookwise.operations.book_jobs import BookJobs
from bookwise.wiring import App


class SharedJobs(BookJobs):
    """The job queue of a process whose jobs are run by `bookwise worker`."""

    def __init__(self, app: App, steps: StepStore) -> None:
        super().__init__(app)
        self._steps = steps

    async def ingest(self, source: str, book_id: str, mode: IngestionMode, *, pull: bool = False) -> IngestionJob:
        await require_ingestible(book_id, mode, self._app.ingestion_kit)
        return await self._steps.open(book_id, mode, source, pull=pull)

    async def repeat(self, book_id: str) -> IngestionJob | None:
        return await self._steps.repeat(book_id)

    async def cancel(self, job_id: int) -> IngestionJob:
        return await self._steps.cancel(job_id)

    def pause_opening(self, book_id: str) -> AbstractAsyncContextManager[None]:
        return self._steps.pause_opening(book_id)
