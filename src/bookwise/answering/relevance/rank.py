"""Passages and a question → the units that answer it, each with how well it does."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import TypeAlias

from bookwise.answering.relevance.question_type import QuestionType, ValueKind
from bookwise.domain.answers import Passage
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words, is_content_word, words

NEAR_WEIGHT = 0.4  #: a question's word in the heading or the sentence before, against one in the sentence itself
PASSAGE_WEIGHT = 0.35
PAIR_WEIGHT = 0.15
WANTED_WEIGHT = 0.15
DEFINES_WEIGHT = 0.35
SAYS_WHAT_WEIGHT = 0.1
SUBJECT_EXTRA = 2  #: other words in the subject of a good definition
HEADING_WEIGHT = 0.5
STEPS_WEIGHT = 0.2

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten dozen hundred thousand million half third quarter twice once"
)
_TIMES = (
    "century january february march april may june july august september october november december today before"
    " after during"
)
_WANTED: dict[ValueKind, re.Pattern[str]] = {
    "number": re.compile(rf"\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b", re.IGNORECASE),
    "time": re.compile(rf"\d{{3,4}}|\b(?:{_TIMES.replace(' ', '|')})\b", re.IGNORECASE),
    "person": re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+"),
    "place": re.compile(r"\b(?:in|at|near|from|of|to) (?:the )?[A-Z`/]"),
}
_DEFINES = re.compile(
    r"\b(?:is|are|means|refers? to|stands? for|describes?|denotes?|was|were|consists? of|lets?|allows?|provides?)\b"
)
_HAPPENS = re.compile(r" (?:not|\w+(?:ed|ing))\b")
_STEP = re.compile(
    r"^\s*\d{1,3}[.)]\s|^(?:`{3,}|~{3,})\s*(?:bash|sh|shell|zsh|console|powershell|cmd)\b|(?<!:):[*_]*\Z"
)


@dataclass(frozen=True, slots=True)
class UnitContext:
    """A unit where it stands: under which heading, its own words, and those of the headings and the unit before."""

    index: int  #: among all units of the passage, headings included
    unit: Unit
    heading: str
    own: frozenset[str]
    near: frozenset[str]
    pairs: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit of a passage and how well it answers."""

    passage: Passage
    place: UnitContext
    score: float

    @property
    def unit(self) -> Unit:
        return self.place.unit

    @property
    def index(self) -> int:
        return self.place.index


_Fit: TypeAlias = Callable[[QuestionType, UnitContext, dict[str, float]], float]


def rank_units(question: QuestionType, passages: Sequence[Passage]) -> list[RankedUnit]:
    """Every unit that could be part of an answer, the one that fits the question best first; ties in reading order."""
    return _ranked(question, passages, _fit)


def rank_answer_units(question: QuestionType, passages: Sequence[Passage]) -> list[RankedUnit]:
    """The same by how well they read as its answer: what is to be done first where that was asked, and a table only
    for one row that fits, not for the many words it has."""
    return _ranked(question, passages, _answer_fit)


def _ranked(question: QuestionType, passages: Sequence[Passage], fit: _Fit) -> list[RankedUnit]:
    places = [(passage, place) for passage in passages for place in unit_contexts(passage)]
    weights = _weights(question, [place for _, place in places])
    best = max(map(_passage_strength, passages), default=0.0) or 1.0
    found = [
        RankedUnit(passage, place, fit(question, place, weights) + PASSAGE_WEIGHT * _passage_strength(passage) / best)
        for passage, place in places
    ]
    return sorted(found, key=lambda f: (-f.score, f.passage.number, f.index))


def _passage_strength(passage: Passage) -> float:
    """How much a passage speaks for its units: the similarities of one question are drawn together, the strengths of
    its matches are not."""
    return passage.strength or passage.score


def unit_contexts(passage: Passage) -> tuple[UnitContext, ...]:
    """The units of a passage in reading order, without its headings."""
    where = passage.chunk.locator
    return _unit_contexts(passage.chunk.text, (where.page_title, *where.heading_path))


@lru_cache(maxsize=512)
def _unit_contexts(text: str, titles: tuple[str, ...]) -> tuple[UnitContext, ...]:
    title, heading = titles[-1], content_words(" ".join(titles))
    before: frozenset[str] = frozenset()
    places = []
    for index, unit in enumerate(units(text)):
        sequence = [word for word in words(unit.text) if is_content_word(word)]
        own = frozenset(sequence)
        if unit.kind == "heading":
            title, heading = unit.text.strip("# "), heading | own
            continue
        pairs = frozenset(pairwise(sequence))
        places.append(UnitContext(index, unit, title, own, heading | before, pairs))
        before = own
    return tuple(places)


def _weights(question: QuestionType, places: Sequence[UnitContext]) -> dict[str, float]:
    """How much each word of the question tells the units apart, in sum 1: rare ones tell more."""
    seen = Counter(word for place in places for word in question.terms & place.own)
    weights = {word: log(1 + len(places) / (1 + seen[word])) for word in question.terms}
    total = sum(weights.values()) or 1.0
    return {word: weight / total for word, weight in weights.items()}


def _fit(question: QuestionType, place: UnitContext, weights: dict[str, float]) -> float:
    own = sum(weights[word] for word in question.terms & place.own)
    near = sum(weights[word] for word in (question.terms & place.near) - place.own)
    fit = own + NEAR_WEIGHT * near
    if question.pairs:
        fit += PAIR_WEIGHT * len(question.pairs & place.pairs) / len(question.pairs)
    if question.wanted != "any" and _WANTED[question.wanted].search(place.unit.text):
        fit += WANTED_WEIGHT
    if question.kind == "definition" and own and _is_definition(question, place.unit):
        fit += DEFINES_WEIGHT
    return fit


def _answer_fit(question: QuestionType, place: UnitContext, weights: dict[str, float]) -> float:
    if place.unit.kind == "table" and question.kind != "comparison":
        return max(_fit(question, row, weights) for row in _rows(place))
    if question.kind == "procedure":
        return _procedure_fit(question, place, weights)
    if question.kind == "definition":
        return _definition_fit(question, place, weights)
    return _fit(question, place, weights)


def _definition_fit(question: QuestionType, place: UnitContext, weights: dict[str, float]) -> float:
    """How well a unit says what a thing is. Of "a ROS 2 node" the book says what a node is: the rest goes without
    saying."""
    whole = _is_definition(question, place.unit)
    defines = whole or _defines_subject(question, place.unit)
    if defines and not whole:
        place = replace(place, own=place.own | question.terms)
    says_what = defines and _says_what(question, place.unit)
    return _fit(question, place, weights) + DEFINES_WEIGHT * (defines and not whole) + SAYS_WHAT_WEIGHT * says_what


def _procedure_fit(question: QuestionType, place: UnitContext, weights: dict[str, float]) -> float:
    """How well a unit tells what to do. A heading names what its steps and its code are good for; the words inside a
    program say little about that, those of a command much."""
    heading = content_words(place.heading)
    steps = bool(_STEP.search(place.unit.text) and question.terms & (place.own | place.near))
    named = HEADING_WEIGHT * sum(weights[word] for word in question.terms & heading)
    if place.unit.kind == "code":
        place = replace(place, own=place.own | heading if steps else heading)
    elif steps and place.unit.kind == "item":
        place = replace(place, own=place.own | heading)
    return _fit(question, place, weights) + STEPS_WEIGHT * steps + named


def _rows(table: UnitContext) -> list[UnitContext]:
    """The rows of a table, each as if it stood alone below the head."""
    head, *rows = table.unit.text.splitlines()
    sequences = [[word for word in words(f"{head}\n{row}") if is_content_word(word)] for row in rows or [""]]
    return [replace(table, own=frozenset(row), pairs=frozenset(pairwise(row))) for row in sequences]


def _is_definition(question: QuestionType, unit: Unit) -> bool:
    """Whether a sentence begins with what was asked for and says what it is."""
    verb = _DEFINES.search(unit.text)
    if unit.kind not in ("sentence", "item") or verb is None:
        return False
    subject = content_words(unit.text[: verb.start()])
    return bool(subject) and question.terms <= subject | content_words(unit.text) and bool(question.terms & subject)


def _defines_subject(question: QuestionType, unit: Unit) -> bool:
    """Whether a sentence that says what something is begins with the thing itself and no other."""
    verb = _DEFINES.search(unit.text)
    if unit.kind not in ("sentence", "item") or verb is None:
        return False
    subject = content_words(unit.text[: verb.start()])
    return question.subject in subject <= question.terms


def _says_what(question: QuestionType, unit: Unit) -> bool:
    """Whether a definition speaks of hardly anything else, and says what it is, not what is done with it."""
    verb = _DEFINES.search(unit.text)
    if verb is None or _HAPPENS.match(unit.text, verb.end()):
        return False
    return len(content_words(unit.text[: verb.start()]) - question.terms) <= SUBJECT_EXTRA
