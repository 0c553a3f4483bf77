"""Passages and a question → the units that answer it, each with how well it does."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log

from bookwise.answering.asked import Asked, Wanted
from bookwise.answering.sentences import Unit, units
from bookwise.answering.words import carries, content_words, words
from bookwise.domain.answers import Passage

NEAR_WEIGHT = 0.4  #: a question's word in the heading or the sentence before, against one in the sentence itself
PASSAGE_WEIGHT = 0.35
PAIR_WEIGHT = 0.15
WANTED_WEIGHT = 0.15
DEFINES_WEIGHT = 0.35

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten dozen hundred thousand million half third quarter twice once"
)
_TIMES = (
    "century january february march april may june july august september october november december today before"
    " after during"
)
_WANTED: dict[Wanted, re.Pattern[str]] = {
    "number": re.compile(rf"\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b", re.IGNORECASE),
    "time": re.compile(rf"\d{{3,4}}|\b(?:{_TIMES.replace(' ', '|')})\b", re.IGNORECASE),
    "person": re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+"),
    "place": re.compile(r"\b(?:in|at|near|from|of|to) (?:the )?[A-Z`/]"),
}
_DEFINES = re.compile(
    r"\b(?:is|are|means|refers? to|stands? for|describes?|denotes?|was|were|consists? of|lets?|allows?|provides?)\b"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A unit where it stands: its own words, and those of its heading and of the unit before it."""

    index: int
    unit: Unit
    own: frozenset[str]
    near: frozenset[str]
    pairs: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Found:
    """A unit of a passage and how well it answers."""

    passage: Passage
    place: Place
    score: float

    @property
    def unit(self) -> Unit:
        return self.place.unit

    @property
    def index(self) -> int:
        return self.place.index


def found_units(question: Asked, passages: Sequence[Passage]) -> list[Found]:
    """Every unit that could be part of an answer, best first; ties in reading order."""
    places = [(passage, place) for passage in passages for place in places_of(passage)]
    weights = _weights(question, [place for _, place in places])
    best = max((passage.score for passage in passages), default=0.0) or 1.0
    found = [
        Found(passage, place, _fit(question, place, weights) + PASSAGE_WEIGHT * passage.score / best)
        for passage, place in places
    ]
    return sorted(found, key=lambda f: (-f.score, f.passage.number, f.index))


def places_of(passage: Passage) -> tuple[Place, ...]:
    """The units of a passage in reading order, without its headings."""
    where = passage.chunk.locator
    return _places(passage.chunk.text, " ".join((where.page_title, *where.heading_path)))


@lru_cache(maxsize=512)
def _places(text: str, title: str) -> tuple[Place, ...]:
    heading = content_words(title)
    before: frozenset[str] = frozenset()
    places = []
    for index, unit in enumerate(units(text)):
        sequence = [word for word in words(unit.text) if carries(word)]
        own = frozenset(sequence)
        if unit.kind == "heading":
            heading = heading | own
            continue
        pairs = frozenset(pairwise(sequence))
        places.append(Place(index, unit, own, heading | before, pairs))
        before = own
    return tuple(places)


def _weights(question: Asked, places: Sequence[Place]) -> dict[str, float]:
    """How much each word of the question tells the units apart, in sum 1: rare ones tell more."""
    seen = Counter(word for place in places for word in question.terms & place.own)
    weights = {word: log(1 + len(places) / (1 + seen[word])) for word in question.terms}
    total = sum(weights.values()) or 1.0
    return {word: weight / total for word, weight in weights.items()}


def _fit(question: Asked, place: Place, weights: dict[str, float]) -> float:
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


def _is_definition(question: Asked, unit: Unit) -> bool:
    """Whether a sentence begins with what was asked for and says what it is."""
    verb = _DEFINES.search(unit.text)
    if unit.kind not in ("sentence", "item") or verb is None:
        return False
    subject = content_words(unit.text[: verb.start()])
    return bool(subject) and question.terms <= subject | content_words(unit.text) and bool(question.terms & subject)
