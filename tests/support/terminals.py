"""Keys → a program on a real (pseudo) terminal → what its screen received."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"
ROWS, COLUMNS = 40, 100

#: A child that makes the terminal its own, so that Ctrl-C reaches it, and then becomes the program.
_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]")


class OnTerminal:
    """A running program, its keyboard and what it has shown so far."""

    def __init__(self, child: subprocess.Popen[bytes], terminal: int) -> None:
        self._child, self._terminal = child, terminal
        self._seen = 0
        self.raw = ""

    @property
    def shown(self) -> str:
        """Without colours, links and cursor movements."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def await_text(self, text: str, seconds: float = 30) -> None:
        """Waits until this text has been shown after what was awaited before."""
        deadline = time.monotonic() + seconds
        while (at := self.shown.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline, f"{text!r} was never shown:\n{self.shown[self._seen :]}"
            self._read()
        self._seen = at + len(text)

    def exit_code(self, seconds: float = 30) -> int:
        deadline = time.monotonic() + seconds
        while self._child.poll() is None:
            assert time.monotonic() < deadline, f"it did not end:\n{self.shown[self._seen :]}"
            self._read()
        self._read()
        return self._child.returncode

    def _read(self) -> None:
        with suppress(OSError):  # the other side of a terminal is gone with its program
            while select.select([self._terminal], [], [], 0.05)[0]:
                if not (data := os.read(self._terminal, 65536)):
                    return
                self.raw += data.decode("utf-8", "replace")


@contextmanager
def on_terminal(program: str, *arguments: str, env: Mapping[str, str]) -> Iterator[OnTerminal]:
    """Runs a program on a terminal of its own; leaving kills what is left of it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, program, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **env, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield OnTerminal(child, ours)
    finally:
        child.kill()
        child.wait()
        os.close(ours)
