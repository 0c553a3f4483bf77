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


def no_room() -> None:
    """All slots are taken, so every question that may not wait is refused."""
    from bookwise.api.load_limit import LoadLimit

    create = LoadLimit.__init__

    def create_full(self: Any, *args: Any, **options: Any) -> None:
        create(self, *args, **options)
        while self._slots.available_tokens:
            self._slots.acquire_on_behalf_of_nowait(object())

    LoadLimit.__init__ = create_full  # type: ignore[method-assign]


def blind_access() -> None:
    """Every key may see every book."""
    from bookwise.domain.access import Caller

    Caller.may_see = lambda self, book_id: True  # type: ignore[method-assign]


def raw_html() -> None:
    """HTML in texts stays HTML and is not sanitized, and the policy of the page allows everything."""
    from bookwise.api.rendering import markdown
    from bookwise.api.routes import page

    markdown._PARSER.options["html"] = True
    markdown.sanitize = lambda html: html
    page.OWN["Content-Security-Policy"] = "default-src * data: 'unsafe-inline' 'unsafe-eval'"


CONTROLS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "half-answers": half_answers,
    "no-breaker": no_breaker,
    "deaf-streams": deaf_streams,
    "no-refusals": no_refusals,
    "no-room": no_room,
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
