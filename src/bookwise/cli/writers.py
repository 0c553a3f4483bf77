"""Where an answer is written: a terminal, or a file or pipe."""

import sys
import textwrap
from collections.abc import Sequence
from typing import Protocol

from bookwise.cli.output import printable
from bookwise.domain.answers import Highlight


class AnswerWriter(Protocol):
    """Where an answer is written to."""

    links_lines: bool  #: whether a line can itself be a link, so that its URL need not be shown

    def say(self, text: str, highlights: Sequence[Highlight] = ()) -> None:
        """Writes the next part of the answer; it is visible immediately. Highlights are positions in this part."""

    def end(self) -> None:
        """The answer is complete or was stopped."""

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        """Writes a line that is not part of the answer."""

    def passage(self, text: str) -> None:
        """Writes text of the book in full."""


def answer_writer() -> AnswerWriter:
    """The writer for standard output."""
    if not sys.stdout.isatty():
        return PlainWriter()
    from bookwise.cli.terminal_writer import TerminalWriter  # loads rich: 0.05 s

    return TerminalWriter()


class PlainWriter:
    """For files and pipes: no colours, no wrapping, and rich is not loaded."""

    links_lines = False

    def __init__(self) -> None:
        self._line_is_open = False

    def say(self, text: str, highlights: Sequence[Highlight] = ()) -> None:
        sys.stdout.write(printable(text))
        sys.stdout.flush()
        self._line_is_open = not text.endswith("\n")

    def end(self) -> None:
        if self._line_is_open:
            self.line("")
        self._line_is_open = False

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        sys.stdout.write(textwrap.indent(printable(text), " " * indent) + "\n")
        sys.stdout.flush()

    def passage(self, text: str) -> None:
        self.line(f"\n{text}\n")
