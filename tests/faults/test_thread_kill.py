"""SIGKILL while a thread is being answered: what was acknowledged is there, once, and the thread goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import ThreadBusy
from bookwise.domain.threads import ThreadMessage
from tests.support.databases import ask
from tests.support.talks import said, said_and_complete, turns
from tests.support.thread_child import LEASE_SECONDS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def after_the_lease() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS + 1)


@contextmanager
def reader(url: str, thread_id: str, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ready to ask; none is left behind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.thread_child", url, thread_id, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    with process:
        try:
            assert next_line(process) == "ready"
            yield process
        finally:
            process.kill()


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


async def new_thread(url: str) -> str:
    async with open_database(url) as database:
        return (await SqlThreads(database).create(book_id="robots")).id


async def messages_held(database: Database) -> int:
    count = "json_array_length" if database.address.kind == "sqlite" else "jsonb_array_length"
    live = await ask(database, f"SELECT {count}(messages) FROM conversation_threads")
    return int(live + await ask(database, "SELECT count(*) FROM archived_messages"))


async def test_a_question_outlives_the_process_that_was_answering_it(migrated_url: str) -> None:
    thread_id = await new_thread(migrated_url)
    with reader(migrated_url, thread_id, "once") as process:
        let_go(process)
        assert next_line(process) == "begun 0"
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=30) == -signal.SIGKILL
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
    with reader(migrated_url, thread_id, "on-and-on") as process:
        let_go(process)
        seen = [next_line(process) for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        seen += process.stdout.read().split("\n")  # also what was read ahead; `communicate` would lose that
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
        reader(migrated_url, thread_id, "once") as first,
        reader(migrated_url, thread_id, "once") as second,
        reader(migrated_url, thread_id, "once") as third,
    ):
        for process in (first, second, third):
            let_go(process)
        assert sorted(map(next_line, (first, second, third))) == ["begun 0", "busy", "busy"]
    async with open_database(migrated_url) as database:
        assert said(await SqlThreads(database).history(thread_id)) == ["question 0", ""]
