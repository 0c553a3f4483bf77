"""Questions and answers for the tests of a thread store, and a wall clock that moves only when told to."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from bookwise.domain.threads import ThreadMessage
from bookwise.ports import ThreadStore


class WallClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 29, 12, 0, 0, 123456, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def answer(text: str, clock: WallClock, **facts: Any) -> ThreadMessage:
    return ThreadMessage(role="assistant", content=text, timestamp=clock.now, **facts)


async def talk(threads: ThreadStore, thread_id: str, clock: WallClock, numbers: range) -> None:
    """One question and its answer for each number, a second apart."""
    for number in numbers:
        await threads.begin(thread_id, f"question {number}")
        clock.move(1)
        await threads.finish(thread_id, answer(f"answer {number}", clock))
        clock.move(1)


def said(messages: Iterable[ThreadMessage]) -> list[str]:
    return [message.content for message in messages]


def said_and_complete(messages: Iterable[ThreadMessage]) -> list[tuple[str, bool]]:
    return [(message.content, message.complete) for message in messages]


def turns(numbers: range) -> list[str]:
    """What `talk` leaves behind."""
    return [text for number in numbers for text in (f"question {number}", f"answer {number}")]
