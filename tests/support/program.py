"""The program `bookwise` in a real process that starts in milliseconds: forked, see `processes`.

What it writes goes to files. For tests of the start itself (imports, a signal before it listens, a terminal) run
PROGRAM instead.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from bookwise.cli.main import run
from tests.support.processes import start

PROGRAM = str(Path(sys.executable).parent / "bookwise")
POLL_SECONDS = 0.02


def environment(data: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "BOOKWISE_DATA_DIR": str(data), **more}


class RunningProgram:
    """The process, and what it has written so far, which is kept when it is gone."""

    def __init__(self, process: ForkServerProcess, out: Path, err: Path) -> None:
        assert process.pid is not None
        self.pid, self.join = process.pid, process.join
        self._process, self._files, self._kept = process, (out, err), ("", "")

    def out(self) -> str:
        return self._written()[0]

    def err(self) -> str:
        return self._written()[1]

    def _written(self) -> tuple[str, str]:
        out, err = self._files
        return (out.read_text("utf-8"), err.read_text("utf-8")) if out.exists() else self._kept

    def end(self) -> None:
        """Kills what is left of it, and keeps what it has written."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # also what it has started
        self.kill()
        self.join()
        self._kept = self._written()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        while (code := self.returncode) is None:  # noqa: ASYNC110 - waiting in a thread could not be cancelled
            await anyio.sleep(POLL_SECONDS)
        return code


@contextmanager
def running_program(
    *arguments: str, folder: Path, env: Mapping[str, str], main: Callable[[], None] = run
) -> Iterator[RunningProgram]:
    """The program in this working folder until the end of the block, which kills what is left of it."""
    with TemporaryDirectory() as written:  # not in its folder, where a test may have filled the disk
        out, err = Path(written) / "out", Path(written) / "err"
        out.touch()
        err.touch()
        running = RunningProgram(start(_become, arguments, folder, dict(env), (out, err), main), out, err)
        try:
            yield running
        finally:
            running.end()


def run_program(*arguments: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the program to its end."""
    with running_program(*arguments, folder=folder, env=env) as running:
        running.join(120)
        assert running.returncode is not None, f"it did not end: {running.err()}"
        return subprocess.CompletedProcess(arguments, running.returncode, running.out(), running.err())


def _become(
    arguments: tuple[str, ...], folder: Path, env: dict[str, str], written: tuple[Path, Path], main: Callable[[], None]
) -> None:
    """Turns a fresh process into the program."""
    os.setsid()
    os.chdir(folder)
    for number, path in enumerate(written, start=1):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [PROGRAM, *arguments]
    sys.orig_argv = [sys.executable, *sys.argv]
    main()
