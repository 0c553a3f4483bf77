"""Text of a model → the same with every citation as [n] after its sentence; sentence + passage → the words quoted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.grounding.citation_marks import CitationMark, citation_marks
from bookwise.answering.grounding.segments import Segment, segments
from bookwise.domain.answers import Passage
from bookwise.text.sentences import units
from bookwise.text.words import content_words


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """A text whose only citations are [n] of passages that were retrieved."""

    text: str
    numbers: tuple[int, ...]  #: in the order of the text, each once
    removed: int  #: citations of passages that were not retrieved


def resolve_citations(text: str, passages: Sequence[Passage]) -> CitedText:
    """The whole text with its citations resolved."""
    cited = [cite_segment(piece, passages) for piece in segments(text, passages)]
    return CitedText(
        text="".join(piece.text for piece in cited),
        numbers=tuple(dict.fromkeys(number for piece in cited for number in piece.numbers)),
        removed=sum(piece.removed for piece in cited),
    )


def cite_segment(piece: Segment, passages: Sequence[Passage]) -> CitedText:
    """One piece with its citations resolved; code holds none, a table keeps them in their cells."""
    found = [] if piece.kind == "code" else citation_marks(piece.text, passages)
    numbers = tuple(dict.fromkeys(number for mark in found for number in mark.numbers))
    in_place = piece.kind == "table"
    text = _replaced(piece.text, found) if in_place else with_numbers(_without(piece.text, found), numbers)
    return CitedText(text=text, numbers=numbers, removed=sum(mark.removed for mark in found))


def with_numbers(text: str, numbers: Sequence[int]) -> str:
    """The text with [n] after its last word, before the white space that ends it."""
    body = text.rstrip()
    tail = text[len(body) :]
    gap = " " if body and numbers else ""
    return body + gap + "".join(f"[{number}]" for number in numbers) + tail


def quote_for(sentence: str, passage: Passage) -> str:
    """The unit of the passage that best carries the sentence, letter for letter."""
    said = content_words(sentence)
    found = [unit for unit in units(passage.chunk.text) if unit.kind != "heading"] or units(passage.chunk.text)
    return max((unit.text for unit in found), key=lambda text: _closeness(said, text), default="")


def _closeness(said: frozenset[str], text: str) -> tuple[int, float]:
    """Shared words count; of two units that share as many, the shorter one says it best."""
    there = content_words(text)
    return len(said & there), -len(there)


def _without(text: str, found: Sequence[CitationMark]) -> str:
    for mark in reversed(found):
        head, tail = text[: mark.start], text[mark.end :]
        if not tail or re.match(r"[\s.,;:!?)]", tail):
            head = head.rstrip(" \t") if head.strip() else head
        elif not head.strip() or head[-1].isspace():
            tail = tail.lstrip(" \t")
        text = head + tail
    return text


def _replaced(text: str, found: Sequence[CitationMark]) -> str:
    for mark in reversed(found):
        text = text[: mark.start] + "".join(f"[{number}]" for number in mark.numbers) + text[mark.end :]
    return text
