"""Jobs by book: what the two job queues have in common."""

from bookwise.domain.errors import JobAlreadyRunning
from bookwise.domain.jobs import IngestionJob, IngestionMode
from bookwise.operations.sources import source_of
from bookwise.wiring import App

OPEN_TRIES = 3  #: the open job of a book may end while a push waits for it


class BookJobs:
    """Opens jobs for books that are read from their own source. Only the operator may name a source (`ingest`)."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def ingest(self, source: str, book_id: str, mode: IngestionMode, *, pull: bool = False) -> IngestionJob:
        raise NotImplementedError

    async def repeat(self, book_id: str) -> IngestionJob | None:
        """The open job of the book, which is ingested once more after it; None when no queue of this kind runs it."""
        raise NotImplementedError

    async def trigger(self, book_id: str, mode: IngestionMode = "incremental") -> IngestionJob:
        return await self.ingest(await source_of(book_id, self._app), book_id, mode)

    async def trigger_latest(self, book_id: str) -> IngestionJob:
        source = await source_of(book_id, self._app)
        for _ in range(OPEN_TRIES - 1):
            try:
                return await self.ingest(source, book_id, "incremental", pull=True)
            except JobAlreadyRunning:
                if job := await self.repeat(book_id):
                    return job
        return await self.ingest(source, book_id, "incremental", pull=True)
