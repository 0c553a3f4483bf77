"""Removing a book: what goes, what stays, and what a crash in the middle leaves."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bookwise.api.job_runner import open_job_runner
from bookwise.domain.errors import JobAlreadyRunning, NotFound
from bookwise.operations.books import RemoveBook
from bookwise.wiring import App
from tests.support.apps import found, hashing_app, ingested, write_book

pytestmark = pytest.mark.anyio

LESSONS = {"a.md": "# Arms\n\nThe arm has six joints.\n", "b.md": "# Legs\n\nThe leg has three joints.\n"}


class Crash(Exception):
    """The process ends here."""


class CrashingIndex:
    """An index whose process ends when chunks are to be removed."""

    def __init__(self, index: object) -> None:
        self._index = index

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        raise Crash


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An app with the books "book" and "other"."""
    async with hashing_app(tmp_path / "data") as opened:
        root = write_book(tmp_path / "book", LESSONS)
        await ingested(opened, root)
        await ingested(opened, root, book_id="other")
        yield opened


async def crashed_removal(app: App) -> None:
    crashing: Any = CrashingIndex(app.index)
    with pytest.raises(Crash):
        await RemoveBook(book_id="book").run(replace(app, index=crashing))


async def test_a_removed_book_is_gone_with_its_chunks_and_no_other(app: App) -> None:
    removed = await RemoveBook(book_id="book").run(app)
    assert (removed.book_id, removed.lessons, removed.chunks) == ("book", 2, 2)
    assert [book.id for book in await app.catalog.books()] == ["other"]
    assert await app.index.revisions("book") == {}
    assert len((await found(app, "six joints", book_id="other")).hits) == 2


async def test_jobs_and_threads_of_a_removed_book_stay(app: App) -> None:
    thread = await app.threads.create(book_id="book")
    await RemoveBook(book_id="book").run(app)
    assert [job.status for job in await app.jobs.jobs("book")] == ["completed"]
    assert (await app.threads.thread(thread.id)).book_id == "book"


async def test_a_book_that_is_absent_cannot_be_removed(app: App) -> None:
    with pytest.raises(NotFound, match="no book 'absent'"):
        await RemoveBook(book_id="absent").run(app)


async def test_a_book_with_an_open_job_is_not_removed(app: App) -> None:
    job = await app.jobs.open("book", "incremental", "somewhere")
    with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id} is queued"):
        await RemoveBook(book_id="book").run(app)
    await app.jobs.start(job.job_id)
    with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id} is running"):
        await RemoveBook(book_id="book").run(app)
    assert len((await found(app, "six joints")).hits) == 2


async def test_a_crash_after_the_commit_point_leaves_no_book_but_chunks_that_no_search_finds(app: App) -> None:
    await crashed_removal(app)
    assert [book.id for book in await app.catalog.books()] == ["other"]
    assert sum((await app.index.revisions("book")).values()) == 2


async def test_the_next_start_of_the_service_sweeps_what_a_crash_left(app: App) -> None:
    await crashed_removal(app)
    async with open_job_runner(app):
        assert await app.index.revisions("book") == {}
        assert sum((await app.index.revisions("other")).values()) == 2


async def test_removing_the_book_again_sweeps_what_a_crash_left(app: App) -> None:
    await crashed_removal(app)
    with pytest.raises(NotFound):
        await RemoveBook(book_id="book").run(app)
    assert await app.index.revisions("book") == {}


async def test_a_removed_book_can_be_ingested_again(app: App, tmp_path: Path) -> None:
    await RemoveBook(book_id="book").run(app)
    assert (await ingested(app, tmp_path / "book")).files_processed == 2
    assert len((await found(app, "six joints")).hits) == 2
