"""What the stores promise about old records: what is deleted, what stays, and that no page reads more than itself."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bookwise.adapters.sql import threads as thread_module
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.adapters.sql.vectors import SqlVectorCache
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.jobs import LessonOutcome
from tests.support.builders import record
from tests.support.databases import ask
from tests.support.talks import WallClock, answer, said, talk, turns

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def threads(database: Database, clock: WallClock) -> SqlThreads:
    return SqlThreads(database, clock=clock)


async def ended_job(jobs: SqlJobs, book_id: str, *outcomes: LessonOutcome) -> int:
    job = await jobs.start((await jobs.open(book_id, "incremental", "folder")).job_id)
    await jobs.progress(job, outcomes)
    return (await jobs.fail(job.job_id, "stopped")).job_id


async def test_unchanged_lessons_are_counted_but_not_listed(database: Database) -> None:
    jobs = SqlJobs(database)
    listed = LessonOutcome(source_file="a.md", status="published", chunks_created=2)
    job = await ended_job(jobs, "robots", listed, LessonOutcome(source_file="b.md", status="unchanged"))
    assert await jobs.outcomes(job) == [listed]


async def test_ended_jobs_are_deleted_with_their_outcomes_except_the_newest_of_each_book(database: Database) -> None:
    clock = WallClock()
    jobs = SqlJobs(database, clock=clock)
    outcome = LessonOutcome(source_file="a.md", status="published")
    old = [await ended_job(jobs, book, outcome) for book in ("robots", "robots", "plants")]
    clock.move(2 * 86_400)
    new = await ended_job(jobs, "robots", outcome)
    running = await jobs.open("plants", "full", "folder")
    assert await jobs.forget(before=clock.now - 3 * DAY) == 0
    assert await jobs.forget(before=clock.now - DAY) == 3
    assert [job.job_id for job in await jobs.jobs()] == [running.job_id, new]
    assert await ask(database, "SELECT count(*) FROM job_outcomes") == 1
    with pytest.raises(NotFound):
        await jobs.job(old[0])
    await jobs.fail(running.job_id, "stopped")
    clock.move(10 * 86_400)
    assert await jobs.forget(before=clock.now) == 0, "the newest of each book stays, however old"


async def test_vectors_of_former_texts_are_bounded_and_those_of_live_lessons_stay(database: Database) -> None:
    clock = WallClock()
    cache = SqlVectorCache(database, clock=clock)
    catalog = SqlCatalog(database, index_id="index", exclusive=True)
    await catalog.register(Book(id="book", title="Book"))
    live = record("loops", "r1")
    await cache.remember("minilm", {"live": (1.0, 0.0)})
    for edit in range(3):
        clock.move(1)
        await cache.remember("minilm", {f"edit {edit} {number}": (0.0, 1.0) for number in range(500)})
    await catalog.activate([replace(live, text_hashes=("live",))])
    assert await cache.forget_unused() == 500
    kept = await cache.recall("minilm", ["live", "edit 0 1", "edit 1 1", "edit 2 499"])
    assert set(kept) == {"live", "edit 1 1", "edit 2 499"}, "the newest stay, so that undoing an edit is fast"
    assert await cache.forget_unused() == 0
    assert (await catalog.records("book"))[0] == live


async def test_idle_threads_are_deleted_in_batches_with_everything_that_belongs_to_them(
    threads: SqlThreads, database: Database, clock: WallClock
) -> None:
    for _ in range(3):
        thread = await threads.create(book_id="robots")
        await talk(threads, thread.id, clock, range(30))
    clock.move(400 * 86_400)
    busy = await threads.create(book_id="robots")
    await threads.begin(busy.id, "slow", lease_seconds=60)
    clock.move(5)
    fresh = await threads.create(book_id="robots")
    assert await threads.remove_idle(idle_seconds=500 * 86_400) == 0
    assert await threads.remove_idle(idle_seconds=3) == 3
    assert {thread.id for thread in await threads.threads()} == {busy.id, fresh.id}
    assert await ask(database, "SELECT count(*) FROM archived_messages") == 0


async def test_a_page_is_the_same_whether_its_messages_are_live_archived_or_both(
    threads: SqlThreads, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(40))
    everything = turns(range(40))
    for _ in range(2):
        for offset, limit in ((0, 1), (0, 30), (25, 10), (29, 2), (30, 50), (79, 5), (80, 5), (10**12, 5), (0, 10**30)):
            page = await threads.page(thread.id, offset=offset, limit=limit)
            assert (said(page.messages), page.total) == (everything[offset : offset + limit], 80)
        clock.move(7200)
        await threads.archive_idle()
    with pytest.raises(InvalidInput):
        await threads.page(thread.id, offset=-1)
    with pytest.raises(NotFound):
        await threads.page(thread.id, owner="other")


async def test_a_page_of_a_long_thread_reads_only_its_messages(
    threads: SqlThreads, database: Database, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(100))
    read: list[object] = []
    original = thread_module.message_from
    monkeypatch.setattr(thread_module, "message_from", lambda stored: read.append(stored) or original(stored))
    page = await threads.page(thread.id, offset=20, limit=10)
    assert said(page.messages) == turns(range(10, 15))
    assert len(read) == 10


async def test_many_idle_threads_are_archived_in_few_transactions(
    threads: SqlThreads, database: Database, clock: WallClock
) -> None:
    for number in range(30):
        thread = await threads.create(book_id="robots")
        await threads.begin(thread.id, f"question {number}")
        await threads.finish(thread.id, answer(f"answer {number}", clock))
    clock.move(7200)
    writes = 0
    original = database.write

    async def counted(*args: object, **more: object) -> object:
        nonlocal writes
        writes += 1
        return await original(*args, **more)  # type: ignore[arg-type]

    database.write = counted  # type: ignore[method-assign, assignment]
    assert await threads.archive_idle() == 30
    assert writes == 1
    assert said(await threads.history(thread.id)) == ["question 29", "answer 29"]
