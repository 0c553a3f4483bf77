"""A section as it is shown → the sentences, list items, table rows and code lines in it that answer the question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights, UnitContext, match_score
from bookwise.answering.relevance.sections import coverage
from bookwise.domain.answers import Highlight
from bookwise.text.sentences import Unit, UnitKind, units
from bookwise.text.words import content_words, is_content_word, words

HIGHLIGHTS_MAX = 3  #: per section, without the code below a highlighted sentence
LEAST_COVERAGE = 0.3  #: share of the question that the best sentence must hold, else nothing is highlighted
WITHIN = 0.8  #: what a further sentence must score, against the best one
CODE_LINES_MAX = 3  #: code with more lines below a highlighted sentence speaks for itself

_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<lines>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_BLANK = re.compile(r"[^\n]")
_TITLE = re.compile(r"^\*\*[^*\n]+\*\*$|^…$", re.MULTILINE)
_CITATION = re.compile(r"[ \t]*\[\d{1,3}\][ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)+(?:\[[ xX]\]\s+)?")
_ROW = re.compile(r"[^\s|](?:[^\n]*[^\s|])?")
_RULE = re.compile(r"[\s|:-]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A part of the text that can be highlighted."""

    kind: UnitKind
    start: int
    text: str
    near: str = ""  #: what it continues: the sentence before it, or the head of its table

    @property
    def highlight(self) -> Highlight:
        return Highlight(self.start, self.start + len(self.text))


def find_highlights(text: str, question: QuestionType, weights: TermWeights) -> tuple[Highlight, ...]:
    """Returns the best candidate of a section and the others that are about as good, in order; none when the best one
    holds too little of the question."""
    candidates = _candidates(text)
    scores = [_score(question, candidate, weights) for candidate in candidates]
    best = max(scores, default=0.0)
    if best == 0.0:
        return ()
    ranking = sorted(range(len(candidates)), key=lambda at: (-scores[at], at))
    chosen = {at for at in ranking[:HIGHLIGHTS_MAX] if scores[at] >= WITHIN * best}
    chosen |= {line for at in chosen for line in _code_below(candidates, at)}
    return tuple(candidates[at].highlight for at in sorted(chosen))


def _score(question: QuestionType, candidate: Candidate, weights: TermWeights) -> float:
    """0 for a candidate that holds too little of the question; code counts only where steps are wanted."""
    sequence = [word for word in words(candidate.text) if is_content_word(word)]
    terms = frozenset(sequence)
    if coverage(weights, terms) < LEAST_COVERAGE or (candidate.kind == "code" and question.kind != "procedure"):
        return 0.0
    unit = Unit(candidate.kind, candidate.text, candidate.start)
    context = UnitContext(0, unit, terms, content_words(candidate.near), frozenset(pairwise(sequence)))
    return match_score(question, context, weights)


def _code_below(candidates: Sequence[Candidate], at: int) -> list[int]:
    """The lines of short code that a sentence introduces."""
    if not candidates[at].text.endswith(":"):
        return []
    following = range(at + 1, len(candidates))
    lines = list(takewhile(lambda index: candidates[index].kind == "code", following))
    return lines if len(lines) <= CODE_LINES_MAX else []


def _candidates(text: str) -> list[Candidate]:
    """Everything that can be highlighted, in order. Titles, gaps and citations cannot."""
    prose = text
    for pattern in (_CODE, _TITLE, _CITATION):
        prose = pattern.sub(lambda match: _BLANK.sub(" ", match[0]), prose)
    return sorted([*_prose(prose), *_code_lines(text)], key=lambda candidate: candidate.start)


def _code_lines(text: str) -> Iterator[Candidate]:
    for block in _CODE.finditer(text):
        for line in _LINE.finditer(text, block.start("lines"), block.end("lines")):
            yield Candidate("code", line.start(), line[0])


def _prose(text: str) -> Iterator[Candidate]:
    near = ""
    for unit in units(text):
        match unit.kind:
            case "table":
                yield from _rows(unit)
            case "sentence" | "item":
                marker = _MARKER.match(unit.text)
                body = unit.start + (marker.end() if marker else 0)
                for sentence in units(text[body : unit.start + len(unit.text)]):
                    yield Candidate(unit.kind, body + sentence.start, sentence.text, near)
                    near = sentence.text


def _rows(table: Unit) -> Iterator[Candidate]:
    """The rows below the head of a table, from their first cell to their last."""
    head, *rows = _ROW.finditer(table.text)
    for row in rows:
        if not _RULE.fullmatch(row[0]):
            yield Candidate("table", table.start + row.start(), row[0], head[0])
