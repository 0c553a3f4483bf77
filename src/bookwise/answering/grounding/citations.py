"""Text of a model → the text with its citations as [n]; sentence + passage → the quote that supports it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookwise.answering.grounding.citation_marks import CitationMark, citation_marks
from bookwise.answering.grounding.citation_numbers import CitationNumbers
from bookwise.answering.grounding.segments import Segment, segments
from bookwise.domain.answers import Passage
from bookwise.text.sentences import units
from bookwise.text.words import content_words


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """A text whose citations are all [n] of retrieved passages."""

    text: str
    numbers: tuple[int, ...]  #: in the order of the text, each once
    removed: int  #: citations of passages that were not retrieved


def resolve_citations(text: str, passages: Sequence[Passage]) -> CitedText:
    """Returns a complete text with its citations resolved."""
    parts = [cite_segment(segment, passages) for segment in segments(text, passages)]
    return CitedText(
        text="".join(part.text for part in parts),
        numbers=tuple(dict.fromkeys(number for part in parts for number in part.numbers)),
        removed=sum(part.removed for part in parts),
    )


def cite_segment(segment: Segment, passages: Sequence[Passage]) -> CitedText:
    """Returns one segment with its citations resolved, after the sentence; a table keeps them in its cells."""
    marks = [] if segment.kind == "code" else citation_marks(segment.text, passages)
    numbers = tuple(dict.fromkeys(number for mark in marks for number in mark.numbers))
    in_place = segment.kind == "table"
    text = _replaced(segment.text, marks) if in_place else with_numbers(_without(segment.text, marks), numbers)
    return CitedText(text=text, numbers=numbers, removed=sum(mark.removed for mark in marks))


def with_numbers(text: str, numbers: Sequence[int]) -> str:
    """Returns the text with [n] after its last word, before the white space at its end."""
    body = text.rstrip()
    tail = text[len(body) :]
    gap = " " if body and numbers else ""
    return body + gap + "".join(f"[{number}]" for number in numbers) + tail


def renumbered(segment: Segment, passages: Sequence[Passage], shown: Sequence[int], numbers: CitationNumbers) -> str:
    """Returns the text of a segment that cites only the passages `shown`, by their numbers in the answer. Code has no
    place for a citation, a table only the cells that have one."""
    if segment.kind == "code":
        return segment.text
    marks = citation_marks(segment.text, passages)
    if segment.kind == "table":
        return _replaced(segment.text, [_renumbered_mark(mark, shown, numbers) for mark in marks])
    return with_numbers(_without(segment.text, marks), [numbers.cite(number) for number in shown])


def _renumbered_mark(mark: CitationMark, shown: Sequence[int], numbers: CitationNumbers) -> CitationMark:
    return replace(mark, numbers=tuple(numbers.cite(number) for number in mark.numbers if number in shown))


def quote_for(sentence: str, passage: Passage) -> str:
    """Returns the unit of the passage that supports the sentence best, unchanged."""
    terms = content_words(sentence)
    all_units = units(passage.text)
    candidates = [unit for unit in all_units if unit.kind != "heading"] or all_units
    return max((unit.text for unit in candidates), key=lambda text: _overlap(terms, text), default="")


def _overlap(terms: frozenset[str], text: str) -> tuple[int, int]:
    """Returns a sort key: more common terms first, then the shorter text."""
    text_terms = content_words(text)
    return len(terms & text_terms), -len(text_terms)


def _without(text: str, marks: Sequence[CitationMark]) -> str:
    for mark in reversed(marks):
        head, tail = text[: mark.start], text[mark.end :]
        if not tail or re.match(r"[\s.,;:!?)]", tail):
            head = head.rstrip(" \t") if head.strip() else head
        elif not head.strip() or head[-1].isspace():
            tail = tail.lstrip(" \t")
        text = head + tail
    return text


def _replaced(text: str, marks: Sequence[CitationMark]) -> str:
    for mark in reversed(marks):
        text = text[: mark.start] + "".join(f"[{number}]" for number in mark.numbers) + text[mark.end :]
    return text
