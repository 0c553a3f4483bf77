"""What the port `ThreadStore` promises about live and archived messages and concurrent writes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import anyio
import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import Conflict, ThreadBusy
from bookwise.domain.threads import IDLE_SECONDS, LIVE_MESSAGES_MAX, Thread, ThreadMessage
from bookwise.ports import ThreadStore
from tests.support.databases import ask
from tests.support.talks import WallClock, answer, said, said_and_complete, talk, turns

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def threads(database: Database, clock: WallClock) -> ThreadStore:
    return SqlThreads(database, clock=clock)


async def message_counts(database: Database, thread_id: str) -> tuple[int, int]:
    """The number of messages in the row of the thread, and in the archive."""
    count = "json_array_length" if database.address.kind == "sqlite" else "jsonb_array_length"
    live = await ask(database, f"SELECT {count}(messages) FROM conversation_threads")
    return live, await ask(database, "SELECT count(*) FROM archived_messages")


async def test_an_answer_that_comes_after_its_lease_is_still_kept(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "slow", lease_seconds=1)
    clock.move(2 * IDLE_SECONDS)
    assert await threads.archive_idle() == 1
    finished = await threads.finish(thread.id, answer("at last", clock))
    assert (said(finished.messages), finished.archived) == (["slow", "at last"], False)


async def test_of_many_questions_at_once_one_is_answered(migrated_url: str) -> None:
    async with open_database(migrated_url) as one, open_database(migrated_url) as two:
        stores = (SqlThreads(one), SqlThreads(two))
        thread = await stores[0].create(book_id="robots")
        accepted: list[str] = []
        conflicts: list[str] = []

        async def attempt(store: ThreadStore, question: str) -> None:
            try:
                await store.begin(thread.id, question)
                accepted.append(question)
            except ThreadBusy:
                conflicts.append(question)

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(attempt, stores[number % 2], f"question {number}")
        assert (len(accepted), len(conflicts)) == (1, 9)
        assert said(await stores[1].history(thread.id)) == [accepted[0], ""]


async def test_of_many_concurrent_creates_with_one_id_one_succeeds(threads: ThreadStore) -> None:
    thread_id = str(uuid4())
    created: list[Thread] = []
    conflicts: list[Conflict] = []

    async def attempt(owner: str) -> None:
        try:
            created.append(await threads.create(book_id="robots", owner=owner, thread_id=thread_id))
        except Conflict as error:
            conflicts.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(attempt, f"owner {number}")
    assert (len(created), len(conflicts)) == (1, 7)
    assert await threads.thread(thread_id, owner=created[0].owner) == created[0]


async def test_fifty_messages_are_live_and_older_ones_are_archived_in_order(
    threads: ThreadStore, clock: WallClock, database: Database
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(25))
    full = await threads.thread(thread.id)
    assert (len(full.messages), full.archived_messages) == (LIVE_MESSAGES_MAX, 0)
    await threads.begin(thread.id, "question 25")
    stored = await threads.thread(thread.id)
    assert said(stored.messages) == [*turns(range(1, 25)), "question 25", ""]
    assert stored.archived_messages == 2
    await threads.finish(thread.id, answer("answer 25", clock))
    await talk(threads, thread.id, clock, range(26, 40))
    stored = await threads.thread(thread.id)
    assert said(stored.messages) == turns(range(15, 40))
    assert stored.archived_messages == 30
    assert await message_counts(database, thread.id) == (50, 30)
    assert said(await threads.history(thread.id)) == turns(range(40))


async def test_history_is_the_newest_messages_across_archive_and_live_ones(
    threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(40))
    everything = turns(range(40))
    for limit in (1, 2, 49, 50, 51, 53, 79, 80, 81, 1000, 10**30):
        assert said(await threads.history(thread.id, limit=limit)) == everything[-limit:]
    clock.move(2 * IDLE_SECONDS)
    await threads.archive_idle()
    for limit in (1, 50, 51, 80, 1000):
        assert said(await threads.history(thread.id, limit=limit)) == everything[-limit:]


async def test_a_thread_goes_to_cold_storage_after_an_hour_without_a_message(
    threads: ThreadStore, clock: WallClock, database: Database
) -> None:
    thread = await threads.create(book_id="robots", metadata={"tag": 1})
    await talk(threads, thread.id, clock, range(30))
    before = await threads.thread(thread.id)
    clock.now = before.updated_at + timedelta(seconds=IDLE_SECONDS - 1)
    assert await threads.archive_idle() == 0
    clock.move(1)
    assert await threads.archive_idle() == 0
    assert await message_counts(database, thread.id) == (50, 10)
    clock.move(1)
    assert await threads.archive_idle() == 1
    assert await threads.archive_idle() == 0
    assert await message_counts(database, thread.id) == (0, 60)
    assert await threads.thread(thread.id) == replace(before, archived=True)
    assert await threads.threads() == [replace(before, archived=True, messages=())]
    assert await message_counts(database, thread.id) == (0, 60)  # looking changes nothing


@pytest.mark.parametrize("exchanges", [0, 1, 25, 26, 60])
async def test_the_next_question_brings_a_thread_back_with_all_its_messages(
    threads: ThreadStore, clock: WallClock, database: Database, exchanges: int
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(exchanges))
    clock.move(2 * IDLE_SECONDS)
    assert await threads.archive_idle() == 1
    cold = await threads.thread(thread.id)
    assert await threads.begin(thread.id, f"question {exchanges}") == cold
    await threads.finish(thread.id, answer(f"answer {exchanges}", clock))
    back = await threads.thread(thread.id)
    everything = turns(range(exchanges + 1))
    assert not back.archived
    assert said(back.messages) == everything[-50:]
    assert back.archived_messages == len(everything[:-50])
    assert await message_counts(database, thread.id) == (len(everything[-50:]), len(everything[:-50]))
    assert said(await threads.history(thread.id)) == everything


async def test_a_thread_that_is_being_answered_is_never_archived(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "a long one", lease_seconds=600)
    clock.move(2 * IDLE_SECONDS)
    await threads.renew()
    assert await threads.archive_idle() == 0
    clock.move(IDLE_SECONDS)
    assert await threads.archive_idle() == 1
    thread_now = await threads.thread(thread.id)
    assert said_and_complete(thread_now.messages) == [("a long one", True), ("", False)]


async def test_any_number_of_threads_goes_to_cold_storage_of_any_owner(threads: ThreadStore, clock: WallClock) -> None:
    for number in range(120):
        await threads.create(book_id="robots", owner=f"owner {number}")
    clock.move(10)
    fresh = await threads.create(book_id="robots")
    clock.move(5)
    assert await threads.archive_idle(idle_seconds=10) == 120
    assert not (await threads.thread(fresh.id)).archived


async def test_threads_survive_closing_and_opening_the_database(migrated_url: str, clock: WallClock) -> None:
    async with open_database(migrated_url) as database:
        threads = SqlThreads(database, clock=clock)
        thread = await threads.create(book_id="robots")
        await talk(threads, thread.id, clock, range(30))
        stored = await threads.thread(thread.id)
    async with open_database(migrated_url) as database:
        assert await SqlThreads(database, clock=clock).thread(thread.id) == stored


@pytest.fixture
async def two_stores(migrated_url: str) -> AsyncIterator[tuple[ThreadStore, ThreadStore]]:
    async with open_database(migrated_url) as one, open_database(migrated_url) as two:
        yield SqlThreads(one), SqlThreads(two)


async def test_no_message_is_lost_doubled_or_half_seen_while_a_thread_comes_and_goes(
    two_stores: tuple[ThreadStore, ThreadStore],
) -> None:
    asker, other = two_stores
    thread = await asker.create(book_id="robots")
    exchanges = 60
    done = anyio.Event()

    async def converse() -> None:
        for number in range(exchanges):
            await asker.begin(thread.id, f"question {number}")
            now = datetime.now(UTC)
            await asker.finish(thread.id, ThreadMessage(role="assistant", content=f"answer {number}", timestamp=now))
        done.set()

    async def keep_archiving() -> None:
        while not done.is_set():
            await other.archive_idle(idle_seconds=0)

    async def keep_reading() -> None:
        while not done.is_set():
            seen = said(await other.history(thread.id))
            assert [
                "" if text == "" else texts for text, texts in zip(seen, turns(range(exchanges)), strict=False)
            ] == seen
            thread_now = await other.thread(thread.id)
            expected = [*turns(range(exchanges))][thread_now.archived_messages :][: len(thread_now.messages)]
            assert said(thread_now.messages)[:-1] == expected[:-1]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(converse)
        tasks.start_soon(keep_archiving)
        tasks.start_soon(keep_reading)
    assert said(await other.history(thread.id)) == turns(range(exchanges))
