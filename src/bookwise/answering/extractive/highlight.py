"""A section as it is shown → the sentences, list items, table rows and code lines in it that answer the question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights, UnitContext, defines_asked, match_score
from bookwise.answering.relevance.sections import coverage
from bookwise.domain.answers import Highlight
from bookwise.text.blocks import MarkdownKind
from bookwise.text.sentences import Unit, UnitKind, units
from bookwise.text.words import is_content_word, words

# Chosen with `benchmarks.readers`: many facts in few highlighted words.
HIGHLIGHTS_MAX = 2  #: per section, without what a highlighted sentence introduces
LEAST_COVERAGE = 0.2  #: share of the question that a highlight must hold, unless it has the form of an answer
WITHIN = 0.85  #: what a further highlight must score, against the best one
FORM_WEIGHT = 0.8  #: for a sentence that has the form of an answer
INTRODUCED_MAX = 8  #: items or code lines below a highlighted sentence; a longer list or code speaks for itself

_BLOCKS: dict[UnitKind, MarkdownKind] = {"item": "list", "code": "code"}  #: the block that a part belongs to

_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)(?P<lines>.*?)(?:(?P<end>^[ \t]*(?P=fence)[`~]*[ \t]*$)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_BLANK = re.compile(r"[^\n]")
_TITLE = re.compile(r"^\*\*[^*\n]+\*\*$|^…$", re.MULTILINE)
_CITATION = re.compile(r"(?:[^\S\n]*\[\d{1,3}\])+[^\S\n]*$", re.MULTILINE)
_MARKER = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)+(?:\[[ xX]\]\s+)?")
_ROW = re.compile(r"[^\s|](?:[^\n]*[^\s|])?")
_RULE = re.compile(r"[\s|:-]+")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of the text that can be highlighted."""

    kind: UnitKind
    start: int
    text: str

    @property
    def highlight(self) -> Highlight:
        return Highlight(self.start, self.start + len(self.text))


def find_highlights(text: str, question: QuestionType, weights: TermWeights) -> tuple[Highlight, ...]:
    """Returns the best part of a section and the others that are about as good, in order; none when no part holds
    enough of the question or has the form of an answer."""
    parts = _parts(text)
    scores = [_score(question, parts, at, weights) for at in range(len(parts))]
    best = max(scores, default=0.0)
    if best == 0.0:
        return ()
    ranking = sorted(range(len(parts)), key=lambda at: (-scores[at], at))
    chosen = {at for at in ranking[:HIGHLIGHTS_MAX] if scores[at] >= WITHIN * best}
    chosen |= {below for at in chosen for below in _introduced(parts, at)}
    return tuple(parts[at].highlight for at in sorted(chosen))


def _score(question: QuestionType, parts: Sequence[TextPart], at: int, weights: TermWeights) -> float:
    """How well a part answers; 0 if it holds too little of the question. Code needs the sentence above it."""
    part = parts[at]
    if part.kind == "code":
        return 0.0
    sequence = [word for word in words(part.text) if is_content_word(word)]
    terms = frozenset(sequence)
    unit = Unit(part.kind, part.text, part.start)
    has_form = defines_asked(question, unit) or _introduces_asked(question, parts, at)
    if not has_form and coverage(weights, terms) < LEAST_COVERAGE:
        return 0.0
    context = UnitContext(0, unit, terms, frozenset(), frozenset(pairwise(sequence)))
    return match_score(question, context, weights) + FORM_WEIGHT * has_form


def _introduces_asked(question: QuestionType, parts: Sequence[TextPart], at: int) -> bool:
    """Whether a sentence introduces a list or code, and the question asks for one rather than for a sentence."""
    below = _introduced(parts, at)
    return bool(below) and "paragraph" not in question.wanted and _BLOCKS[parts[below[0]].kind] in question.wanted


def _introduced(parts: Sequence[TextPart], at: int) -> list[int]:
    """The short list or code that a sentence introduces with a colon."""
    if at + 1 == len(parts) or not parts[at].text.endswith(":"):
        return []
    kind = parts[at + 1].kind
    below = list(takewhile(lambda index: parts[index].kind == kind, range(at + 1, len(parts))))
    return below if kind in _BLOCKS and len(below) <= INTRODUCED_MAX else []


def _parts(text: str) -> list[TextPart]:
    """Everything that can be highlighted, in order. Titles, gaps and citations cannot."""
    prose = text
    for pattern in (_CODE, _TITLE, _CITATION):
        prose = pattern.sub(lambda match: _BLANK.sub(" ", match[0]), prose)
    return sorted([*_prose(prose), *_code_lines(text)], key=lambda part: part.start)


def _code_lines(text: str) -> Iterator[TextPart]:
    """The lines of code; none of code without an end, which may be anything."""
    for block in _CODE.finditer(text):
        for line in _LINE.finditer(text, block.start("lines"), block.end("lines")) if block["end"] else ():
            if not line[0].startswith(("```", "~~~")):
                yield TextPart("code", line.start(), line[0])


def _prose(text: str) -> Iterator[TextPart]:
    for unit in units(text):
        match unit.kind:
            case "table":
                yield from _rows(unit)
            case "sentence" | "item":
                marker = _MARKER.match(unit.text)
                body = unit.start + (marker.end() if marker else 0)
                for sentence in units(text[body : unit.start + len(unit.text)]):
                    yield TextPart(unit.kind, body + sentence.start, sentence.text)


def _rows(table: Unit) -> Iterator[TextPart]:
    """The rows below the head of a table, from their first cell to their last."""
    for row in list(_ROW.finditer(table.text))[1:]:
        if not _RULE.fullmatch(row[0]):
            yield TextPart("table", table.start + row.start(), row[0])
