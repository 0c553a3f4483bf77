"""What the port `ThreadStore` promises about questions, answers and owners."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid1, uuid4

import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import Conflict, InvalidInput, NotFound, ThreadBusy
from bookwise.domain.threads import IDLE_SECONDS, LEASE_SECONDS, Thread, ThreadMessage
from bookwise.ports import ThreadStore
from tests.support.databases import ask, run
from tests.support.talks import WallClock, answer, said, said_and_complete, talk, turns

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def threads(database: Database, clock: WallClock) -> ThreadStore:
    return SqlThreads(database, clock=clock)


async def test_a_new_thread_is_empty_and_comes_back_as_created(threads: ThreadStore, clock: WallClock) -> None:
    metadata = {"user_id": "user123", "tags": ["ros2", "机"], "deep": {"a": [1, 2.5, None, True]}}
    created = await threads.create(book_id="robots", owner="ann", metadata=metadata)
    assert created == Thread(
        id=created.id, book_id="robots", owner="ann", created_at=clock.now, updated_at=clock.now, metadata=metadata
    )
    assert await threads.thread(created.id, owner="ann") == created
    assert await threads.thread(created.id.upper(), owner="ann") == created


async def test_a_thread_can_be_created_with_a_given_id_once(threads: ThreadStore) -> None:
    thread_id = str(uuid4())
    assert (await threads.create(book_id="robots", owner="ann-the-owner", thread_id=thread_id.upper())).id == thread_id
    for owner in ("ann-the-owner", "bob"):
        with pytest.raises(Conflict, match=thread_id) as caught:
            await threads.create(book_id="rust", owner=owner, thread_id=thread_id)
        assert "ann-the-owner" not in str(caught.value) + caught.value.advice
    assert (await threads.thread(thread_id, owner="ann-the-owner")).book_id == "robots"


@pytest.mark.parametrize(
    "thread_id",
    ["", "x", str(uuid1()), str(uuid4())[:-1], f"{{{uuid4()}}}", "1' OR '1'='1"],
    ids=["empty", "letter", "version-1", "too-short", "braces", "sql"],
)
async def test_an_id_that_is_no_uuid_of_version_4_is_refused(
    threads: ThreadStore, clock: WallClock, thread_id: str
) -> None:
    for call in every_call(threads, clock, thread_id, ""):
        with pytest.raises(InvalidInput, match="UUID of version 4"):
            await call()
    with pytest.raises(InvalidInput, match="UUID of version 4"):
        await threads.create(book_id="robots", thread_id=thread_id)


async def test_a_question_is_kept_with_an_incomplete_answer_before_anyone_answers(
    threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    clock.move(5)
    before = await threads.begin(thread.id, "What is URDF?")
    assert before == thread
    stored = await threads.thread(thread.id)
    assert stored.messages == (
        ThreadMessage(role="user", content="What is URDF?", timestamp=clock.now),
        ThreadMessage(role="assistant", content="", timestamp=clock.now, complete=False),
    )
    assert stored.updated_at == clock.now
    assert stored.created_at == clock.now - 5 * SECOND


async def test_an_answer_comes_back_as_it_was_given(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Was ist URDF? 🤖")
    clock.move(3)
    reply = answer("URDF [1] ist …\n", clock, confidence=1.0, details={"outcome": "answered", "citations": [{"n": 1}]})
    finished = await threads.finish(thread.id, reply)
    assert finished.messages[1] == reply
    assert isinstance(finished.messages[1].confidence, float)
    assert finished.updated_at == clock.now
    assert await threads.thread(thread.id) == finished
    assert await threads.history(thread.id) == list(finished.messages)


async def test_an_answer_that_was_cut_off_stays_marked_for_ever_and_frees_the_thread(
    threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    await threads.finish(thread.id, answer("Beca", clock, complete=False))
    with pytest.raises(NotFound, match="has no unanswered question"):
        await threads.finish(thread.id, answer("something else", clock))
    before = await threads.begin(thread.id, "Again?")
    assert said_and_complete(before.messages) == [("Why?", True), ("Beca", False)]


async def test_an_answer_without_a_question_has_no_place(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    with pytest.raises(NotFound):
        await threads.finish(thread.id, answer("unasked", clock))
    await talk(threads, thread.id, clock, range(1))
    with pytest.raises(NotFound):
        await threads.finish(thread.id, answer("a second answer", clock))
    assert said((await threads.thread(thread.id)).messages) == turns(range(1))


async def test_an_answer_by_the_user_is_refused(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    with pytest.raises(InvalidInput, match="assistant"):
        await threads.finish(thread.id, ThreadMessage(role="user", content="x", timestamp=clock.now))
    assert [message.role for message in await threads.history(thread.id)] == ["user", "assistant"]


async def test_the_returned_thread_of_a_question_holds_what_was_said_before_it(
    threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(3))
    stored = await threads.thread(thread.id)
    assert await threads.begin(thread.id, "next") == stored
    assert said(stored.messages) == turns(range(3))


async def test_a_thread_answers_one_question_at_a_time_until_its_lease_runs_out(
    threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "first", lease_seconds=90)
    for seconds, left in ((0, LEASE_SECONDS), (LEASE_SECONDS - 1, 1)):
        clock.move(seconds)
        with pytest.raises(ThreadBusy, match=thread.id) as caught:
            await threads.begin(thread.id, "second")
        assert caught.value.advice
        assert caught.value.retry_after == left
    assert said((await threads.thread(thread.id)).messages) == ["first", ""]
    clock.move(1)
    await threads.begin(thread.id, "second")
    await threads.finish(thread.id, answer("to the second", clock))
    assert said_and_complete(await threads.history(thread.id)) == [
        ("first", True),
        ("", False),
        ("second", True),
        ("to the second", True),
    ]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e30])
async def test_an_impossible_length_of_time_is_refused(threads: ThreadStore, seconds: float) -> None:
    thread = await threads.create(book_id="robots")
    with pytest.raises(InvalidInput, match="lease_seconds"):
        await threads.begin(thread.id, "Why?", lease_seconds=seconds)
    with pytest.raises(InvalidInput, match="idle_seconds"):
        await threads.archive_idle(idle_seconds=seconds)


async def test_messages_always_take_turns_in_the_order_of_time(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(30))
    history = await threads.history(thread.id)
    assert [message.role for message in history] == ["user", "assistant"] * 30
    assert [message.timestamp for message in history] == sorted(message.timestamp for message in history)
    assert (await threads.thread(thread.id)).messages[0].role == "user"


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_list_of_nothing_cannot_be_asked_for(threads: ThreadStore, limit: int) -> None:
    thread = await threads.create(book_id="robots")
    with pytest.raises(InvalidInput, match="limit"):
        await threads.history(thread.id, limit=limit)
    with pytest.raises(InvalidInput, match="limit"):
        await threads.threads(limit=limit)


async def test_threads_are_listed_by_their_last_use_without_messages(threads: ThreadStore, clock: WallClock) -> None:
    created = []
    for number in range(4):
        created.append(await threads.create(book_id="robots" if number % 2 else "rust", metadata={"number": number}))
        clock.move(1)
    await talk(threads, created[0].id, clock, range(30))
    listed = await threads.threads()
    assert [thread.id for thread in listed] == [created[n].id for n in (0, 3, 2, 1)]
    assert listed[0] == replace(await threads.thread(created[0].id), messages=())
    assert listed[0].archived_messages == 10
    assert [thread.id for thread in await threads.threads(book_id="robots")] == [created[3].id, created[1].id]
    assert [thread.id for thread in await threads.threads(limit=1)] == [created[0].id]
    assert await threads.threads(limit=10**30) == listed
    assert await threads.threads(book_id="absent") == []
    assert await threads.threads(owner="somebody else") == []


async def test_a_removed_thread_leaves_nothing_behind(
    threads: ThreadStore, clock: WallClock, database: Database
) -> None:
    thread = await threads.create(book_id="robots")
    await talk(threads, thread.id, clock, range(30))
    await threads.begin(thread.id, "still being answered")
    await threads.remove(thread.id)
    assert await ask(database, "SELECT count(*) FROM conversation_threads") == 0
    assert await ask(database, "SELECT count(*) FROM archived_messages") == 0
    for call in every_call(threads, clock, thread.id, ""):
        with pytest.raises(NotFound, match=f"There is no thread {thread.id}"):
            await call()
    assert await ask(database, "SELECT count(*) FROM conversation_threads") == 0


def every_call(
    threads: ThreadStore, clock: WallClock, thread_id: str, owner: str
) -> list[Callable[[], Awaitable[object]]]:
    return [
        lambda: threads.thread(thread_id, owner=owner),
        lambda: threads.begin(thread_id, "Why?", owner=owner),
        lambda: threads.finish(thread_id, answer("So.", clock), owner=owner),
        lambda: threads.summarise(thread_id, "mine", owner=owner),
        lambda: threads.history(thread_id, owner=owner),
        lambda: threads.remove(thread_id, owner=owner),
    ]


@pytest.mark.parametrize("stranger", ["", "bob", "Ann", "ann ", "%", "' OR ''='"])
@pytest.mark.parametrize("cold", [False, True])
async def test_a_thread_does_not_exist_for_another_owner(
    threads: ThreadStore, clock: WallClock, stranger: str, cold: bool
) -> None:
    thread = await threads.create(book_id="robots", owner="ann")
    await threads.begin(thread.id, "a secret", owner="ann", lease_seconds=1)
    clock.move(2 * IDLE_SECONDS)
    assert await threads.archive_idle() == 1
    if not cold:
        await threads.begin(thread.id, "another", owner="ann")
    stored = await threads.thread(thread.id, owner="ann")
    absent = str(uuid4())
    calls = zip(
        every_call(threads, clock, thread.id, stranger), every_call(threads, clock, absent, stranger), strict=True
    )
    for foreign, unknown in calls:
        with pytest.raises(NotFound) as denied:
            await foreign()
        with pytest.raises(NotFound) as missed:
            await unknown()
        assert str(denied.value) == str(missed.value).replace(absent, thread.id)
        assert denied.value.advice == missed.value.advice
    assert await threads.threads(owner=stranger) == []
    assert await threads.thread(thread.id, owner="ann") == stored


async def test_a_thread_outlives_its_book_and_needs_none(threads: ThreadStore, database: Database) -> None:
    thread = await threads.create(book_id="robots")
    await run(database, "DELETE FROM books")
    assert (await threads.thread(thread.id)).book_id == "robots"
