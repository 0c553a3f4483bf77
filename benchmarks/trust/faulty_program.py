"""The program `bookwise` in a process that reports its tasks, and in which one mechanism can be broken.

python -m benchmarks.trust.faulty_program CONTROL serve --port 0

SIGUSR1 prints the number of asyncio tasks to stderr. CONTROL is a key of `CONTROLS`; empty breaks nothing.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import anyio


def half_answers() -> None:
    """A text that the model did not finish counts as complete."""
    from bookwise.answering import write

    def finish(draft: Any) -> None:
        draft.cut_off = draft.degraded = None

    write._finish_model_text = finish


def no_breaker() -> None:
    """A model that is down is called for every question."""
    from bookwise.adapters.openai.breaker import Breaker

    Breaker.admit = lambda self: self._era  # type: ignore[method-assign]


def deaf_streams() -> None:
    """A stream does not notice that its reader has left."""
    from bookwise.api.sse import EventStream

    async def wait(self: Any, receive: Any) -> None:
        await anyio.sleep_forever()

    EventStream._wait_for_disconnect = wait  # type: ignore[method-assign]


def no_refusals() -> None:
    """All questions are worked on at once, and none is refused."""
    from bookwise.api import load_limit

    load_limit.AT_ONCE = 1_000_000


def blind_access() -> None:
    """Every key may see every book."""
    from bookwise.domain.access import Caller

    Caller.may_see = lambda self, book_id: True  # type: ignore[method-assign]


def raw_html() -> None:
    """The chat page takes text for HTML, and its policy allows everything."""
    from bookwise.api.routes import page

    read, safe = page._file, b"element.append(...children);"
    unsafe = (
        b"for (const c of children) c instanceof Node ? element.append(c) : element.insertAdjacentHTML('beforeend', c);"
    )
    page._file = lambda name: read(name).replace(safe, unsafe)  # type: ignore[assignment]
    page.POLICY = "default-src * data: 'unsafe-inline' 'unsafe-eval'"


CONTROLS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "half-answers": half_answers,
    "no-breaker": no_breaker,
    "deaf-streams": deaf_streams,
    "no-refusals": no_refusals,
    "blind-access": blind_access,
    "raw-html": raw_html,
}


def report_tasks(*_: object) -> None:
    os.write(2, f"tasks {len(asyncio.all_tasks())}\n".encode())


if __name__ == "__main__":
    from bookwise.cli.main import run

    CONTROLS[sys.argv.pop(1)]()
    signal.signal(signal.SIGUSR1, report_tasks)
    run()
