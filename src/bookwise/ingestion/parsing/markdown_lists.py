"""Source lines of a Markdown list → its block, after lines were replaced or removed."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from bookwise.domain.books import Block, BlockKind


class ListLines:
    """The lines of a list. Tokens inside the list can replace or remove lines."""

    def __init__(self, opening: Token) -> None:
        self._lines: list[str | None] = list(opening.content.split("\n"))
        self._first = opening.map[0] if opening.map else 0

    def span(self, token: Token) -> tuple[int, int]:
        """The lines of a token: index of the first, and index after the last."""
        start, end = token.map or (self._first, self._first)
        return start - self._first, min(end - self._first, len(self._lines))

    def replace(self, token: Token, old: Sequence[str], new: Sequence[str]) -> None:
        """Replaces old lines by new ones and keeps their marker or indentation."""
        start, end = self.span(token)
        for index, (before, after) in zip(range(start, end), zip(old, new, strict=False), strict=False):
            line = self._lines[index]
            if before == after or line is None:
                continue
            prefix = line[: line.rfind(before.strip())]
            new_line = f"{prefix}{after.strip()}"
            self._lines[index] = new_line if new_line.strip() else None

    def drop(self, token: Token, *, from_line: int = 0, matching: re.Pattern[str] | None = None) -> None:
        """Removes the lines of a token: from one line on, or those that match."""
        start, end = self.span(token)
        for index in range(start + from_line, end):
            line = self._lines[index]
            if line is not None and (matching is None or matching.search(line)):
                self._lines[index] = None

    def block(self, kind: BlockKind, start: int, end: int | None) -> Iterator[Block]:
        """The remaining lines as a block, if there are any."""
        text = "\n".join(line for line in self._lines[start:end] if line is not None)
        text = (textwrap.dedent(text) if start else text).strip("\n").rstrip()
        if text.strip():
            yield Block(kind=kind, text=text)
