"""What the port `Journal` promises."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.journal import SqlJournal
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.ports import Journal, ThreadStore
from tests.support.talks import WallClock

pytestmark = pytest.mark.anyio

EVER = datetime(1970, 1, 1, tzinfo=UTC)
LESSONS = (
    QuotedLesson(lesson_id="lesson-1", title="Sensors „im Feld“", url="https://book.example/sensors"),
    QuotedLesson(lesson_id="lesson-2", title="Arms", url="arms.md"),
)


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def journal(database: Database, clock: WallClock) -> Journal:
    return SqlJournal(database, clock=clock)


@pytest.fixture
def threads(database: Database, clock: WallClock) -> ThreadStore:
    return SqlThreads(database, clock=clock)


def a_note(at: datetime, **facts: Any) -> AskedQuestion:
    usual: dict[str, Any] = {
        "answer_id": str(uuid4()),
        "book_id": "robots",
        "owner": "key_0123456789ab",
        "asked_at": at,
        "question": "How many joints does the arm have?",
        "outcome": "answered",
        "level": "high",
        "lessons": LESSONS,
    }
    return AskedQuestion(**usual | facts)


async def test_a_note_comes_back_as_it_was_written(journal: Journal, threads: ThreadStore, clock: WallClock) -> None:
    thread = await threads.create(book_id="robots")
    entry = a_note(clock.now, thread_id=thread.id)
    refusal = a_note(clock.now - timedelta(seconds=1), outcome="refused", reason="nothing-found", lessons=())
    await journal.note(entry)
    await journal.note(refusal)
    assert await journal.questions("robots", since=EVER) == [entry, refusal]


async def test_the_same_answer_is_not_noted_twice(journal: Journal, clock: WallClock) -> None:
    entry = a_note(clock.now)
    await journal.note(entry)
    with pytest.raises(Conflict):
        await journal.note(replace(entry, question="Something else?"))
    assert await journal.questions("robots", since=EVER) == [entry]


@pytest.mark.parametrize("answer_id", ["", "abc", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "\x00", "é" * 36])
async def test_an_answer_whose_id_is_no_random_uuid_is_refused(
    journal: Journal, clock: WallClock, answer_id: str
) -> None:
    with pytest.raises(InvalidInput):
        await journal.note(a_note(clock.now, answer_id=answer_id))
    assert await journal.questions("robots", since=EVER) == []


async def test_a_rating_is_kept_with_its_moment_and_the_next_one_replaces_it(
    journal: Journal, clock: WallClock
) -> None:
    entry = a_note(clock.now)
    await journal.note(entry)
    clock.move(60)
    down = await journal.rate(entry.answer_id, "down", "It is seven.", owner=entry.owner)
    assert down == replace(entry, thumb="down", comment="It is seven.", rated_at=clock.now)
    clock.move(60)
    up = await journal.rate(entry.answer_id.upper(), "up", owner=entry.owner)
    assert up == replace(entry, thumb="up", comment="", rated_at=clock.now)
    assert await journal.questions("robots", since=EVER) == [up]


async def test_only_whoever_asked_may_rate_and_nobody_else_learns_of_the_answer(
    journal: Journal, clock: WallClock
) -> None:
    entry = a_note(clock.now)
    await journal.note(entry)
    messages = set()
    strangers = [(entry.answer_id, "key_ba9876543210"), (entry.answer_id, ""), (str(uuid4()), entry.owner)]
    malformed = [(text, entry.owner) for text in ("", "abc", "%", "\x00", "\ud800", "1" * 36, entry.answer_id + " ")]
    unhyphenated = (entry.answer_id.replace("-", ""), entry.owner)
    for answer_id, owner in [*strangers, *malformed, unhyphenated]:
        with pytest.raises(NotFound) as raised:
            await journal.rate(answer_id, "down", "no", owner=owner)
        messages.add((raised.value.message, raised.value.advice))
    assert len(messages) == 1
    assert await journal.questions("robots", since=EVER) == [entry]


async def test_a_mark_is_kept_with_its_moment_until_the_question_is_opened_again(
    journal: Journal, clock: WallClock
) -> None:
    first, second, other = a_note(clock.now), a_note(clock.now), a_note(clock.now, book_id="rust")
    for entry in (first, second, other):
        await journal.note(entry)
    clock.move(60)
    ids = [first.answer_id.upper(), other.answer_id, str(uuid4()), "no id", "\x00"]
    assert await journal.mark("robots", ids, "fixed") == 1
    assert await journal.question(first.answer_id) == replace(first, mark="fixed", marked_at=clock.now)
    assert await journal.question(second.answer_id) == second
    assert await journal.question(other.answer_id) == other, "of another book"
    assert await journal.mark("robots", [first.answer_id, second.answer_id], "ignored") == 2
    assert await journal.mark("robots", [first.answer_id], None) == 1
    assert await journal.question(first.answer_id) == first
    assert (await journal.question(second.answer_id)).mark == "ignored"


@pytest.mark.parametrize("answer_id", ["", "no id", "\x00", "\ud800", "7d1c2a34-0b5e-4f6a-9c8d-1e2f3a4b5c6d"])
async def test_a_question_that_does_not_exist_is_not_found(journal: Journal, answer_id: str) -> None:
    with pytest.raises(NotFound):
        await journal.question(answer_id)


async def test_notes_come_newest_first_from_the_moment_on_for_one_book(journal: Journal, clock: WallClock) -> None:
    entries = [a_note(clock.now + timedelta(hours=hour)) for hour in (2, 0, 3, 1)]
    for one in [*entries, a_note(clock.now + timedelta(hours=2), book_id="rust")]:
        await journal.note(one)
    newest_first = sorted(entries, key=lambda one: one.asked_at, reverse=True)
    assert await journal.questions("robots", since=EVER) == newest_first
    assert await journal.questions("robots", since=clock.now + timedelta(hours=1)) == newest_first[:3]
    assert await journal.questions("robots", since=EVER, limit=2) == newest_first[:2]
    assert await journal.questions("absent", since=EVER) == []
    with pytest.raises(InvalidInput):
        await journal.questions("robots", since=EVER, limit=0)


async def test_notes_of_one_moment_have_one_order(journal: Journal, clock: WallClock) -> None:
    for _ in range(10):
        await journal.note(a_note(clock.now))
    entries = await journal.questions("robots", since=EVER)
    assert await journal.questions("robots", since=clock.now, limit=4) == entries[:4]


async def test_older_notes_are_forgotten_and_counted(journal: Journal, clock: WallClock) -> None:
    recent = a_note(clock.now)
    await journal.note(recent)
    for days, book_id in [(1, "robots"), (2, "rust"), (90, "robots")]:
        await journal.note(a_note(clock.now - timedelta(days=days), book_id=book_id))
    assert await journal.forget(before=clock.now) == 3
    assert await journal.forget(before=clock.now) == 0
    assert await journal.questions("robots", since=EVER) == [recent]
    assert await journal.questions("rust", since=EVER) == []


async def test_a_deleted_thread_takes_its_notes_with_it(
    journal: Journal, threads: ThreadStore, clock: WallClock
) -> None:
    deleted, recent = [await threads.create(book_id="robots") for _ in range(2)]
    notes = [a_note(clock.now, thread_id=thread_id) for thread_id in (deleted.id, deleted.id, recent.id, None)]
    for one in notes:
        await journal.note(one)
    await threads.remove(deleted.id)
    entries = await journal.questions("robots", since=EVER)
    assert {one.answer_id for one in entries} == {notes[2].answer_id, notes[3].answer_id}
    with pytest.raises(NotFound):
        await journal.rate(notes[0].answer_id, "up", owner=notes[0].owner)


async def test_a_note_about_a_thread_that_is_gone_by_now_is_not_kept_and_nobody_minds(
    journal: Journal, threads: ThreadStore, clock: WallClock
) -> None:
    thread = await threads.create(book_id="robots")
    await threads.remove(thread.id)
    await journal.note(a_note(clock.now, thread_id=thread.id))
    assert await journal.questions("robots", since=EVER) == []


async def test_what_a_reader_typed_is_kept_even_where_a_database_cannot_hold_it(
    journal: Journal, clock: WallClock
) -> None:
    odd = "'; DROP TABLE asked_questions; -- \x00 \ud800 \U0001f916 " + "x" * 10_000
    entry = a_note(clock.now, question=odd, lessons=(QuotedLesson(lesson_id="a", title="\x00", url="\udfff"),))
    await journal.note(entry)
    rated = await journal.rate(entry.answer_id, "down", odd, owner=entry.owner)
    stored = odd.replace("\x00", "\\u0000").replace("\ud800", "\\ud800")
    assert (rated.question, rated.comment) == (stored, stored)
    assert rated.lessons == (QuotedLesson(lesson_id="a", title="\\u0000", url="\\udfff"),)


async def test_a_moment_without_a_time_zone_is_refused(journal: Journal, clock: WallClock) -> None:
    with pytest.raises(InvalidInput):
        await journal.note(a_note(clock.now.replace(tzinfo=None)))
