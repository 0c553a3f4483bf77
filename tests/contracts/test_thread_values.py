"""What the port `ThreadStore` promises about stored values: times, texts, JSON, summaries."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import DamagedData, InvalidInput
from bookwise.domain.threads import SUMMARY_MAX, ThreadMessage
from bookwise.ports import ThreadStore
from tests.support.databases import run
from tests.support.talks import WallClock, answer, said

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def threads(database: Database, clock: WallClock) -> ThreadStore:
    return SqlThreads(database, clock=clock)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"x", datetime(2026, 1, 1, tzinfo=UTC)])
async def test_metadata_that_is_no_json_is_refused(threads: ThreadStore, value: object) -> None:
    with pytest.raises(InvalidInput, match=r"metadata.*JSON"):
        await threads.create(book_id="robots", metadata={"x": [value]})
    assert await threads.threads() == []


async def test_metadata_nested_without_end_is_refused(threads: ThreadStore) -> None:
    nested: list[Any] = []
    for depth in (100, 100_000):
        for _ in range(depth):
            nested = [nested]
        with pytest.raises(InvalidInput, match="JSON"):
            await threads.create(book_id="robots", metadata={"x": nested})


async def test_order_survives_a_clock_that_is_set_back(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    for _ in range(3):
        await threads.begin(thread.id, "Why?")
        clock.move(-3600)
        await threads.finish(thread.id, answer("So.", clock))
        clock.move(-3600)
    stored = await threads.thread(thread.id)
    times = [message.timestamp for message in stored.messages]
    assert times == sorted(times)
    assert stored.updated_at >= stored.created_at


async def test_all_times_are_in_utc_whatever_zone_they_came_in(database: Database, clock: WallClock) -> None:
    tokyo = timezone(timedelta(hours=9))
    threads = SqlThreads(database, clock=lambda: clock.now.astimezone(tokyo))
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    finished = await threads.finish(
        thread.id, ThreadMessage(role="assistant", content="So.", timestamp=clock.now.astimezone(tokyo))
    )
    times = [finished.created_at, finished.updated_at, *(message.timestamp for message in finished.messages)]
    assert times == [clock.now] * 4
    assert {time.utcoffset() for time in times} == {timedelta(0)}


async def test_an_answer_at_a_time_without_a_zone_is_refused(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    with pytest.raises(InvalidInput, match="time zone"):
        await threads.finish(thread.id, replace(answer("So.", clock), timestamp=clock.now.replace(tzinfo=None)))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_an_answer_json_cannot_hold_is_refused_and_can_be_given_again(
    threads: ThreadStore, clock: WallClock, value: float
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    for wrong in (answer("So.", clock, confidence=value), answer("So.", clock, details={"score": value})):
        with pytest.raises(InvalidInput, match="JSON"):
            await threads.finish(thread.id, wrong)
    assert (await threads.finish(thread.id, answer("So.", clock))).messages[1].complete


@pytest.mark.parametrize("code", [0, 0xD800, 0xDCFF], ids=["nul", "surrogate", "undecodable-byte"])
async def test_unstorable_characters_are_kept_as_escapes(threads: ThreadStore, clock: WallClock, code: int) -> None:
    odd, escape = f"a{chr(code)}b", f"a\\u{code:04x}b"
    thread = await threads.create(book_id="robots", metadata={odd: odd})
    assert thread.metadata == {escape: escape}
    await threads.begin(thread.id, odd)
    finished = await threads.finish(thread.id, answer(odd, clock, details={"quotes": [odd]}))
    assert said(finished.messages) == [escape, escape]
    assert finished.messages[1].details == {"quotes": [escape]}
    await threads.summarise(thread.id, odd)
    assert (await threads.thread(thread.id)).topic_summary == escape
    await threads.archive_idle(idle_seconds=0)
    clock.move(1)
    await threads.archive_idle(idle_seconds=0)
    assert said(await threads.history(thread.id)) == [escape, escape]


async def test_text_that_looks_like_sql_or_an_escape_is_only_text(threads: ThreadStore, clock: WallClock) -> None:
    text = "'; DROP TABLE conversation_threads; -- \\u0000 %s :x {} \"\n\t\x01"
    thread = await threads.create(book_id="robots", owner=text.replace("\x01", ""))
    await threads.begin(thread.id, text, owner=thread.owner)
    assert said(await threads.history(thread.id, owner=thread.owner))[0] == text


async def test_a_summary_is_no_use_of_the_thread(threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    clock.move(60)
    await threads.summarise(thread.id, "  About robots  ")
    assert await threads.thread(thread.id) == replace(thread, topic_summary="About robots")


@pytest.mark.parametrize(
    ("text", "summary_text"),
    [
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200),
        ("x" * 199 + " yz", "x" * 199),
        ("word " * 39 + "fives", "word " * 39 + "fives"),
        ("word " * 39 + "fives more", "word " * 39 + "fives"),
        ("word " * 39 + "sixsix", ("word " * 39).strip()),
        ("word " * 39 + "four next", "word " * 39 + "four"),
        ("word\n" * 41, ("word\n" * 40).strip()),
        ("a" + "   " * 80 + "b", "a"),
        ("\x00" * 200, ("\\u0000" * 34)[:200]),
    ],
)
async def test_a_long_summary_is_cut_at_a_word(threads: ThreadStore, text: str, summary_text: str) -> None:
    thread = await threads.create(book_id="robots")
    await threads.summarise(thread.id, text)
    summary = (await threads.thread(thread.id)).topic_summary
    assert summary == summary_text
    assert len(summary_text) <= SUMMARY_MAX


async def test_a_damaged_message_is_reported_as_such(threads: ThreadStore, database: Database) -> None:
    thread = await threads.create(book_id="robots")
    await run(database, 'UPDATE conversation_threads SET messages = \'[{"role": "user"}]\'')
    with pytest.raises(DamagedData):
        await threads.thread(thread.id)
    with pytest.raises(DamagedData):
        await threads.begin(thread.id, "Why?")


async def test_a_message_that_is_not_what_was_stored_is_never_shown(
    threads: ThreadStore, database: Database, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    await threads.finish(thread.id, answer("Because of the valve.", clock))
    column = "messages" if database.address.kind == "sqlite" else "messages::text"
    cast = "" if database.address.kind == "sqlite" else "::jsonb"
    change = f"UPDATE conversation_threads SET messages = replace({column}, 'valve', 'value'){cast}"
    await run(database, change)
    for read in (threads.thread, threads.history):
        with pytest.raises(DamagedData):
            await read(thread.id)


async def test_numbers_in_details_are_the_same_after_storing(threads: ThreadStore, clock: WallClock) -> None:
    details = {"n": [1.0, -0.0, 1e22, -3.5e300, 1e-320, 12345678901234567890, 0.1, 1e16, 123456789012345.6, True, None]}
    thread = await threads.create(book_id="robots")
    await threads.begin(thread.id, "Why?")
    await threads.finish(thread.id, answer("So.", clock, details=details, confidence=1.0))
    stored = (await threads.thread(thread.id)).messages[-1]
    assert stored.details == details
    clock.move(7200)
    await threads.archive_idle()
    assert (await threads.history(thread.id))[-1] == stored
