"""A reader in a process of its own, who asks in a thread until killed.

python -m tests.support.thread_child DATABASE_URL THREAD_ID {once,on-and-on}

Waits for a line on its input once the database is open. Prints one line per thing the caller may rely on from
then on: `ready`, `begun N`, `finished N`, or `busy` when another question holds the thread.
"""

import argparse
import os
import sys
from datetime import UTC, datetime
from itertools import count

import anyio

from bookwise.adapters.sql.database import open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import ThreadBusy
from bookwise.domain.threads import ThreadMessage

LEASE_SECONDS = 600.0


def report(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def ask_once(threads: SqlThreads, thread_id: str) -> None:
    """Asks, and never gets to the answer."""
    try:
        await threads.begin(thread_id, "question 0", lease_seconds=LEASE_SECONDS)
    except ThreadBusy:
        report("busy")
        return
    report("begun 0")
    await anyio.sleep_forever()


async def ask_on_and_on(threads: SqlThreads, thread_id: str) -> None:
    """Asks and answers, and sends the thread to cold storage in between."""
    for number in count():
        await threads.begin(thread_id, f"question {number}", lease_seconds=LEASE_SECONDS)
        report(f"begun {number}")
        answer = ThreadMessage(role="assistant", content=f"answer {number}", timestamp=datetime.now(UTC))
        await threads.finish(thread_id, answer)
        report(f"finished {number}")
        if number % 3 == 0:
            await threads.archive_idle(idle_seconds=0)


async def main(arguments: argparse.Namespace) -> None:
    async with open_database(arguments.url) as database:
        report("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        work = ask_once if arguments.how == "once" else ask_on_and_on
        await work(SqlThreads(database), arguments.thread_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("thread_id")
    parser.add_argument("how", choices=["once", "on-and-on"])
    anyio.run(main, parser.parse_args())
