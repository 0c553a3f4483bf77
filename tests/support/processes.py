"""Real processes that start in milliseconds: forked from a server that has imported Bookwise already.

Each one has its own memory, files and exit code, and can be killed like any other. For tests of the program's own start
(exit codes, signals, imports) run the program instead.
"""

import multiprocessing
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.synchronize import Barrier, Event

#: Imported by the server that forks the children. A program may add to it before it starts the first child.
PRELOADED = ["pytest", "tests.support.warm_imports"]

Report = Callable[[str], None]  #: sends one line to the parent, which has it even when the child is killed next


class Child:
    """A running child and the lines it has reported."""

    def __init__(self, process: ForkServerProcess, lines: Connection) -> None:
        self.process, self._lines = process, lines

    def ended(self, seconds: float = 120) -> tuple[int, list[str]]:
        """Waits for the end: the exit code (negative: the signal that ended it) and all lines."""
        self.process.join(seconds)
        assert self.process.exitcode is not None, "the child did not end"
        return self.process.exitcode, list(self._received())

    def next_line(self) -> str:
        """Waits for the next line that it reports."""
        return str(self._lines.recv())

    def _received(self) -> Iterator[str]:
        with suppress(EOFError):  # also a last line that a kill cut in half
            while self._lines.poll():
                yield self._lines.recv()


@contextmanager
def child(work: Callable[..., None], *arguments: object) -> Iterator[Child]:
    """Runs `work(report, *arguments)` in a process. Leaving the block kills what is left of it."""
    receiver, sender = _server().Pipe(duplex=False)
    process = start(_run, sender, work, arguments)
    sender.close()
    try:
        yield Child(process, receiver)
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def start(work: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Runs `work(*arguments)` in a process. The caller ends it."""
    process = _server().Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def signal_to_go() -> Event:
    """Pass it to a child, which waits for it."""
    return _server().Event()


def meeting_point(children: int) -> Barrier:
    """Pass it to this number of children: each waits there until all have come."""
    return _server().Barrier(children)


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _run(sender: Connection, work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    warnings.simplefilter("error")
    try:
        work(sender.send, *arguments)
    except BaseException:
        sender.send(traceback.format_exc())
        raise
