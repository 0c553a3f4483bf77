"""SIGKILL while a thread is being answered: what was acknowledged is there, once, and the thread goes on."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import ThreadBusy
from bookwise.domain.threads import ThreadMessage
from tests.support.databases import ask
from tests.support.processes import Child, child, signal_to_go
from tests.support.talks import said, said_and_complete, turns
from tests.support.thread_child import LEASE_SECONDS, ask_on_and_on_in_child, ask_once_in_child

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def after_the_lease() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS + 1)


@dataclass(frozen=True, slots=True)
class Reader:
    """A process that is ready to ask."""

    child: Child
    let_go: Callable[[], None]


@contextmanager
def reader(url: str, thread_id: str, work: Callable[..., None]) -> Iterator[Reader]:
    """None is left behind."""
    go = signal_to_go()
    with child(work, url, thread_id, go) as process:
        assert process.next_line() == "ready"
        yield Reader(process, go.set)


async def new_thread(url: str) -> str:
    async with open_database(url) as database:
        return (await SqlThreads(database).create(book_id="robots")).id


async def messages_held(database: Database) -> int:
    count = "json_array_length" if database.address.kind == "sqlite" else "jsonb_array_length"
    live = await ask(database, f"SELECT {count}(messages) FROM conversation_threads")
    return int(live + await ask(database, "SELECT count(*) FROM archived_messages"))


async def test_a_question_outlives_the_process_that_was_answering_it(migrated_url: str) -> None:
    thread_id = await new_thread(migrated_url)
    with reader(migrated_url, thread_id, ask_once_in_child) as asking:
        asking.let_go()
        assert asking.child.next_line() == "begun 0"
        asking.child.process.kill()
        assert asking.child.ended() == (-signal.SIGKILL, [])
    async with open_database(migrated_url) as database:
        cut_off = [("question 0", True), ("", False)]
        assert said_and_complete((await SqlThreads(database).thread(thread_id)).messages) == cut_off
        with pytest.raises(ThreadBusy):
            await SqlThreads(database).begin(thread_id, "too early")
        later = SqlThreads(database, clock=after_the_lease)
        assert said_and_complete((await later.begin(thread_id, "question 1")).messages) == cut_off
        await later.finish(thread_id, ThreadMessage(role="assistant", content="answer 1", timestamp=after_the_lease()))
        assert said_and_complete(await later.history(thread_id)) == [*cut_off, ("question 1", True), ("answer 1", True)]


@pytest.mark.parametrize("lines", [1, 2, 9, 60, 121])
async def test_what_was_acknowledged_before_a_kill_is_there_once_and_in_order(migrated_url: str, lines: int) -> None:
    thread_id = await new_thread(migrated_url)
    with reader(migrated_url, thread_id, ask_on_and_on_in_child) as asking:
        asking.let_go()
        seen = [asking.child.next_line() for _ in range(lines)]
        asking.child.process.kill()
        seen += asking.child.ended()[1]
    begun = sum(line.startswith("begun") for line in seen)
    finished = sum(line.startswith("finished") for line in seen)
    async with open_database(migrated_url) as database:
        threads = SqlThreads(database, clock=after_the_lease)
        history = await threads.history(thread_id)
        assert len(history) in (2 * begun, 2 * begun + 2)
        assert await messages_held(database) == len(history)
        whole = turns(range(len(history) // 2))
        answered = said(history) == whole
        assert answered or said_and_complete(history)[-1] == ("", False)
        assert said(history)[:-1] == whole[:-1]
        assert len(history) // 2 - (not answered) >= finished
        before = await threads.begin(thread_id, "next")
        assert said(before.messages) == said(history)[-50:]


async def test_of_several_processes_that_ask_at_once_one_gets_the_thread(migrated_url: str) -> None:
    thread_id = await new_thread(migrated_url)
    with (
        reader(migrated_url, thread_id, ask_once_in_child) as first,
        reader(migrated_url, thread_id, ask_once_in_child) as second,
        reader(migrated_url, thread_id, ask_once_in_child) as third,
    ):
        for asking in (first, second, third):
            asking.let_go()
        assert sorted(one.child.next_line() for one in (first, second, third)) == ["begun 0", "busy", "busy"]
    async with open_database(migrated_url) as database:
        assert said(await SqlThreads(database).history(thread_id)) == ["question 0", ""]
