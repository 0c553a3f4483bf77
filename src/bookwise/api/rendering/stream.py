"""Deltas of an answer → HTML of its last part. Finished blocks are rendered once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.api.rendering.answers import answer_html
from bookwise.api.rendering.markdown import parse, top_level
from bookwise.domain.answers import Highlight

_LINE_BREAK = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class HtmlDelta:
    """A change of the shown HTML: the first `keep` elements stay, `html` replaces all others."""

    keep: int
    html: str


class StreamRenderer:
    """Renders an answer while it is written. Only the last block can still change."""

    def __init__(self) -> None:
        self._finished = 0  #: number of elements
        self._rest = ""  #: Markdown from the last block on
        self._highlights: list[Highlight] = []  #: in `_rest`

    def add(self, delta: str, highlights: Sequence[Highlight] = ()) -> HtmlDelta:
        """Returns the change that shows the delta too."""
        self._finish_blocks()
        self._highlights += [highlight.moved(len(self._rest)) for highlight in highlights]
        self._rest += delta
        return HtmlDelta(self._finished, answer_html(self._rest, tuple(self._highlights)))

    def _finish_blocks(self) -> None:
        """Leaves out the blocks that the next delta cannot change."""
        blocks = top_level(parse(self._rest, cited=True))
        last_line = blocks[-1].map[0] if blocks and blocks[-1].map else 0
        starts = [0, *(line_break.end() for line_break in _LINE_BREAK.finditer(self._rest))]
        start = starts[last_line]
        self._finished += max(0, len(blocks) - 1)
        self._rest = self._rest[start:]
        self._highlights = [highlight.moved(-start) for highlight in self._highlights if highlight.end > start]
