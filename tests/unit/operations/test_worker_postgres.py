"""A worker and what it depends on: a short outage does not end a job, a long one does, with its reason."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bookwise.domain.books import EmbeddedChunk
from bookwise.domain.errors import IndexUnavailable
from bookwise.operations import worker
from tests.support.apps import write_book
from tests.support.databases import migrated_postgres, postgres
from tests.support.job_queues import InWorkers, in_workers, job_ended
from tests.support.postgres import Postgres

__all__ = ["migrated_postgres", "postgres"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LESSONS = {"lesson-001.md": "# One\n\nJoint one.\n", "lesson-002.md": "# Two\n\nJoint two.\n"}


class IndexWithOutage:
    """An index that does not take chunks for a number of calls."""

    def __init__(self, index: Any, failures: int) -> None:
        self._index, self._left = index, failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        self._left -= 1
        if self._left >= 0:
            raise IndexUnavailable("The index is away.")
        await self._index.stage(chunks)


@pytest.fixture
def database_url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.new_database(like=migrated_postgres) as url:
        yield url


@pytest.fixture
async def workers(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InWorkers]:
    monkeypatch.setattr(worker, "RETRY_PAUSES", (0.01, 0.01, 0.01))
    async with in_workers(tmp_path / "data", database_url) as opened:
        yield opened


@pytest.mark.parametrize(("failures", "status"), [(3, "completed"), (4, "failed")])
async def test_a_short_outage_of_the_index_does_not_end_the_job(
    workers: InWorkers, tmp_path: Path, failures: int, status: str
) -> None:
    workers.app = replace(workers.app, index=IndexWithOutage(workers.app.index, failures))
    async with workers.running() as queue:
        job = await queue.ingest(str(write_book(tmp_path / "book", LESSONS)), "book", "incremental")
        done = await job_ended(workers.app, job.job_id)
    assert (done.status, done.attempt) == (status, 1)
    assert done.error_message == (None if status == "completed" else "index-unavailable: The index is away.")
    assert done.files_processed == (2 if status == "completed" else 0)
