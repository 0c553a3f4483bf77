"""Text, complete or still growing → segments: sentences, items, code blocks and tables with the space after them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.grounding.citation_marks import masked, settled
from bookwise.domain.answers import Passage
from bookwise.text.fences import FENCE
from bookwise.text.sentences import UnitKind, units

_FIRST_WINDOW = 500  #: characters searched first for the end of a segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A unit with everything up to the next one: all segments joined are the text."""

    kind: UnitKind
    text: str


def segments(text: str, passages: Sequence[Passage]) -> list[Segment]:
    """Returns the segments of a complete text."""
    parts = []
    while text:
        segment = first_segment(text, passages) or last_segment(text, passages)
        parts.append(segment)
        text = text[len(segment.text) :]
    return parts


def first_segment(text: str, passages: Sequence[Passage]) -> Segment | None:
    """Returns the first segment once no further text can change it; None before that."""
    if _is_open_code(text):
        return None
    size = _FIRST_WINDOW
    while size < len(text):  # reading a long text to its end for each segment would take quadratic time
        if segment := _cut(_complete_part(text[:size]), passages):
            return segment
        size *= 2
    return _cut(_complete_part(text), passages)


def last_segment(text: str, passages: Sequence[Passage]) -> Segment:
    """Returns the first segment of a text that will not grow any more."""
    kinds = [unit.kind for unit in units(masked(text, passages))]
    return _cut(text, passages) or Segment(kinds[0] if kinds else "sentence", text)


def _cut(text: str, passages: Sequence[Passage]) -> Segment | None:
    """Returns the first segment of a text; None if there is only one."""
    text_units = units(masked(text, passages))
    if len(text_units) < 2:
        return None
    return Segment(text_units[0].kind, text[: _with_indentation(text, text_units[1].start)])


def _is_open_code(text: str) -> bool:
    """Returns whether the text starts with code whose last line is missing: a cheap check for long code that arrives in
    hundreds of deltas."""
    fence = FENCE.match(text)
    return fence is not None and not re.search(rf"\n[ \t]*{fence.group(1)}[`~]*[ \t\r]*\n", text)


def _complete_part(text: str) -> str:
    """Returns the text without an incomplete mark or table row at its end."""
    text = settled(text)
    begin = text.rfind("\n") + 1
    return text[:begin] if text[begin:].lstrip(" \t").startswith("|") else text


def _with_indentation(text: str, start: int) -> int:
    """Returns the start of the line if only white space comes before `start` on it."""
    line_start = text.rfind("\n", 0, start) + 1
    return start if text[line_start:start].strip() else line_start
