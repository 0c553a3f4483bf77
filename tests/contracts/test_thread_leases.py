"""A thread is reserved while its question is answered, and free soon after the process that answered has died."""

from datetime import UTC, datetime, timedelta

import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.thread_leases import LEASE_MAX_SECONDS
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import NotFound, ThreadBusy
from bookwise.domain.threads import LEASE_SECONDS, RENEWAL_SECONDS, ThreadMessage
from bookwise.ports import ThreadStore
from tests.support.databases import ask, run
from tests.support.talks import WallClock, answer, said, said_and_complete, talk

pytestmark = pytest.mark.anyio

OPEN = 90.0  #: how long the answers may take


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def threads(database: Database, clock: WallClock) -> ThreadStore:
    return SqlThreads(database, clock=clock)


@pytest.fixture
def alone(database: Database, clock: WallClock) -> ThreadStore:
    """The store of the only process that answers."""
    return SqlThreads(database, exclusive=True, clock=clock)


async def wait_for(threads: ThreadStore, thread_id: str) -> float:
    """For how many seconds the thread says that it is busy; 0 when it has taken another question."""
    try:
        await threads.begin(thread_id, "another", lease_seconds=OPEN)
    except ThreadBusy as error:
        return error.retry_after or 0.0
    return 0.0


async def test_a_lease_is_short_and_lasts_for_as_long_as_it_is_renewed(threads: ThreadStore, clock: WallClock) -> None:
    assert 3 * RENEWAL_SECONDS <= LEASE_SECONDS, "two renewals may fail"
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "slow", lease_seconds=OPEN)
    for _ in range(5):
        clock.move(LEASE_SECONDS - 1)
        await threads.renew()
    assert await wait_for(threads, thread.id) == LEASE_SECONDS
    clock.move(LEASE_SECONDS)
    assert await wait_for(threads, thread.id) == 0


async def test_only_the_process_that_answers_renews(database: Database, threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "slow", lease_seconds=OPEN)
    clock.move(LEASE_SECONDS)
    await SqlThreads(database, clock=clock).renew()
    assert await wait_for(threads, thread.id) == 0


async def test_nothing_is_renewed_after_the_end_of_an_answer(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    for _ in range(2):
        await threads.begin(thread.id, "quick", lease_seconds=OPEN)
        await threads.finish(thread.id, answer("done", clock))
        await threads.renew()
    await threads.begin(thread.id, "an answer that may take no time", lease_seconds=0)
    await threads.renew()
    assert await wait_for(threads, thread.id) == 0


@pytest.mark.parametrize("jump", [-86_400, -3600, 3600, 86_400])
async def test_a_jump_of_the_clock_leaves_no_thread_busy(threads: ThreadStore, clock: WallClock, jump: int) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "slow", lease_seconds=OPEN)
    clock.move(jump)
    assert await wait_for(threads, thread.id) <= LEASE_MAX_SECONDS


@pytest.mark.parametrize("jump", [-86_400, -60, 60, 86_400])
async def test_an_answer_in_progress_keeps_its_thread_over_a_jump_of_the_clock(
    threads: ThreadStore, clock: WallClock, jump: int
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "slow", lease_seconds=OPEN)
    clock.move(jump)
    await threads.renew()
    assert await wait_for(threads, thread.id) == LEASE_SECONDS
    finished = await threads.finish(thread.id, answer("at last", clock), position=0)
    assert said(finished.messages) == ["slow", "at last"]


async def test_processes_with_different_clocks_share_the_clock_of_the_server(migrated_url: str) -> None:
    if migrated_url.startswith("sqlite"):
        pytest.skip("A SQLite file has no server.")
    async with open_database(migrated_url) as database:
        threads = SqlThreads(database)
        thread = await threads.create(book_id="robots")
        await threads.begin(thread.id, "slow", lease_seconds=OPEN)
        left = "SELECT extract(epoch FROM busy_until - clock_timestamp())::float FROM conversation_threads"
        assert 0 < await ask(database, left) <= LEASE_SECONDS
        await run(database, "UPDATE conversation_threads SET busy_until = clock_timestamp() - interval '1 ms'")
        await threads.renew()
        assert LEASE_SECONDS - 5 < await ask(database, left) <= LEASE_SECONDS


async def test_an_answer_that_lost_its_thread_is_stored_where_it_belongs(
    database: Database, threads: ThreadStore, clock: WallClock
) -> None:
    other = SqlThreads(database, clock=clock)
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(30))
    before = await threads.begin(thread.id, "slow", lease_seconds=OPEN)
    position = before.archived_messages + len(before.messages)
    clock.move(LEASE_SECONDS)
    await other.begin(thread.id, "meanwhile", lease_seconds=OPEN)
    clock.move(1)
    await threads.finish(thread.id, answer("late", clock), position=position)
    history = await threads.history(thread.id)
    assert said_and_complete(history)[-4:] == [("slow", True), ("late", True), ("meanwhile", True), ("", False)]
    assert [message.timestamp for message in history] == sorted(message.timestamp for message in history)
    assert await wait_for(threads, thread.id) > 0, "the other question is still answered"
    await other.finish(thread.id, answer("soon", clock), position=position + 2)
    assert said(await threads.history(thread.id))[-4:] == ["slow", "late", "meanwhile", "soon"]
    with pytest.raises(NotFound):
        await threads.finish(thread.id, answer("twice", clock), position=position)


@pytest.mark.parametrize("position", [-2, 2, 100])
async def test_a_question_that_is_not_there_has_no_answer(
    threads: ThreadStore, clock: WallClock, position: int
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    with pytest.raises(NotFound):
        await threads.finish(thread.id, answer("Because.", clock), position=position)


async def test_after_a_restart_of_the_only_process_every_thread_is_free(
    database: Database, alone: ThreadStore, clock: WallClock
) -> None:
    thread = await alone.create(book_id="robots")
    await alone.begin(thread.id, "cut off", lease_seconds=OPEN)
    assert 0 < await wait_for(alone, thread.id) <= RENEWAL_SECONDS
    restarted = SqlThreads(database, exclusive=True, clock=clock)
    assert await wait_for(restarted, thread.id) == 0
    assert said(await restarted.history(thread.id)) == ["cut off", "", "another", ""]


async def test_no_clock_frees_a_thread_of_the_only_process(alone: ThreadStore, clock: WallClock) -> None:
    thread = await alone.create(book_id="robots")
    await alone.begin(thread.id, "slow", lease_seconds=OPEN)
    for jump in (86_400, -2 * 86_400):
        clock.move(jump)
        await alone.renew()
        assert await wait_for(alone, thread.id) > 0
    await alone.finish(thread.id, answer("done", clock), position=0)
    assert await wait_for(alone, thread.id) == 0


async def test_a_question_that_was_refused_holds_nothing(alone: ThreadStore, clock: WallClock) -> None:
    thread = await alone.create(book_id="robots", owner="ann")
    with pytest.raises(NotFound):
        await alone.begin(thread.id, "Why?", owner="bob")
    await alone.begin(thread.id, "Why?", owner="ann")
    with pytest.raises(NotFound):
        await alone.begin(thread.id, "Is she here?", owner="bob")
    now = datetime.now(UTC) + timedelta(days=1)
    await alone.finish(thread.id, ThreadMessage(role="assistant", content="Because.", timestamp=now), owner="ann")
