"""Text, whole or still growing → pieces: sentences, items, code blocks and tables with the white space after them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.grounding.citation_marks import masked, settled
from bookwise.domain.answers import Passage
from bookwise.text.sentences import UnitKind, units

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_GLANCE = 500


@dataclass(frozen=True, slots=True)
class Segment:
    """A unit with everything up to the next one: all pieces joined are the text."""

    kind: UnitKind
    text: str


def segments(text: str, passages: Sequence[Passage]) -> list[Segment]:
    """The pieces of a whole text."""
    found = []
    while text:
        piece = first_segment(text, passages) or last_segment(text, passages)
        found.append(piece)
        text = text[len(piece.text) :]
    return found


def first_segment(text: str, passages: Sequence[Passage]) -> Segment | None:
    """The first piece, as soon as nothing that may follow can change it; None before that."""
    if _is_open_code(text):
        return None
    size = _GLANCE
    while size < len(text):  # a long text is not read to its end for each of its pieces
        if piece := _cut(_certain(text[:size]), passages):
            return piece
        size *= 2
    return _cut(_certain(text), passages)


def last_segment(text: str, passages: Sequence[Passage]) -> Segment:
    """The first piece of a text after which nothing follows."""
    kinds = [unit.kind for unit in units(masked(text, passages))]
    return _cut(text, passages) or Segment(kinds[0] if kinds else "sentence", text)


def _cut(text: str, passages: Sequence[Passage]) -> Segment | None:
    found = units(masked(text, passages))
    return Segment(found[0].kind, text[: _line_start(text, found[1].start)]) if len(found) > 1 else None


def _is_open_code(text: str) -> bool:
    """Long code arrives in hundreds of bits: it is not worth a closer look before its last line."""
    fence = _FENCE.match(text)
    return fence is not None and not re.search(rf"\n[ \t]*{fence.group(1)}[`~]*[ \t\r]*\n", text)


def _certain(text: str) -> str:
    """Without what is half-written: a mark, or a row that may yet turn out to be none."""
    text = settled(text)
    begin = text.rfind("\n") + 1
    return text[:begin] if text[begin:].lstrip(" \t").startswith("|") else text


def _line_start(text: str, at: int) -> int:
    """A piece keeps its indentation."""
    begin = text.rfind("\n", 0, at) + 1
    return at if text[begin:at].strip() else begin
