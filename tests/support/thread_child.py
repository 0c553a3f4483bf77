"""A reader in a process of its own, who asks in a thread until killed."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from multiprocessing.synchronize import Event

import anyio

from bookwise.adapters.sql.database import open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import ThreadBusy
from bookwise.domain.threads import ThreadMessage
from tests.support.processes import Report

LEASE_SECONDS = 600.0

Work = Callable[[SqlThreads, str, Report], Awaitable[None]]


def ask_once_in_child(report: Report, url: str, thread_id: str, go: Event) -> None:
    """Waits for `go` once the database is open. Reports each thing the caller may rely on from then on: `ready`,
    `begun N`, `finished N`, or `busy` when another question holds the thread.
    """
    anyio.run(partial(_ask, ask_once, report, url, thread_id, go))


def ask_on_and_on_in_child(report: Report, url: str, thread_id: str, go: Event) -> None:
    """The same, for one question after the other."""
    anyio.run(partial(_ask, ask_on_and_on, report, url, thread_id, go))


async def _ask(work: Work, report: Report, url: str, thread_id: str, go: Event) -> None:
    async with open_database(url) as database:
        report("ready")
        await anyio.to_thread.run_sync(go.wait)
        await work(SqlThreads(database), thread_id, report)


async def ask_once(threads: SqlThreads, thread_id: str, report: Report) -> None:
    """Asks, and never gets to the answer."""
    try:
        await threads.begin(thread_id, "question 0", lease_seconds=LEASE_SECONDS)
    except ThreadBusy:
        report("busy")
        return
    report("begun 0")
    await anyio.sleep_forever()


async def ask_on_and_on(threads: SqlThreads, thread_id: str, report: Report) -> None:
    """Asks and answers, and sends the thread to cold storage in between."""
    for number in count():
        await threads.begin(thread_id, f"question {number}", lease_seconds=LEASE_SECONDS)
        report(f"begun {number}")
        answer = ThreadMessage(role="assistant", content=f"answer {number}", timestamp=datetime.now(UTC))
        await threads.finish(thread_id, answer)
        report(f"finished {number}")
        if number % 3 == 0:
            await threads.archive_idle(idle_seconds=0)
