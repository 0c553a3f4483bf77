"""Markdown and its highlights → which parts of each token are highlighted, in any interface."""

from collections.abc import Sequence
from itertools import pairwise

from bookwise.domain.answers import Highlight


class HighlightReader:
    """The Markdown that tokens come from, read from beginning to end."""

    def __init__(self, text: str, highlights: Sequence[Highlight]) -> None:
        self._text, self._highlights, self._at = text, highlights, 0

    def parts(self, content: str) -> list[tuple[str, bool]]:
        """The next text of a token, cut where a highlight begins or ends; whether each part is highlighted. A text that
        is written differently in the source, as `\\\\*` for a star, is not highlighted."""
        start = self._text.find(content, self._at)
        if start < 0 or not content:
            return [(content, False)]
        self._at = end = start + len(content)
        cuts = {edge for h in self._highlights for edge in (h.start, h.end) if start < edge < end}
        edges = [start, *sorted(cuts), end]
        return [(self._text[a:b], self._is_highlighted(a)) for a, b in pairwise(edges)]

    def _is_highlighted(self, at: int) -> bool:
        return any(highlight.start <= at < highlight.end for highlight in self._highlights)
