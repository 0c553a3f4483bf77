"""Question + passages → the units of the passages, ranked by how well they match: the best one shows whether the
question can be answered."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import TypeAlias

from bookwise.answering.relevance.question_patterns import ValueKind
from bookwise.answering.relevance.question_type import QuestionType
from bookwise.domain.answers import Passage
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words, is_content_word, words

# Weights of a unit's score. A unit that contains every term of the question scores 1; everything below is added to
# that. The values were chosen with `benchmarks.answers` on physical-ai and squad2 (docs/benchmarks.md, Answers).
NEAR_WEIGHT = 0.4  #: of a term in the headings or the unit before, compared with a term in the unit itself
PASSAGE_WEIGHT = 0.35  #: for a unit of the strongest passage; less for weaker passages
PAIR_WEIGHT = 0.15  #: when all neighbouring terms of the question are neighbours in the unit too
VALUE_WEIGHT = 0.15  #: when a question for a number, time, person or place meets a unit with one
DEFINITION_WEIGHT = 0.35  #: when a question for a definition meets one

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten dozen hundred thousand million half third quarter twice once"
)
_TIME_WORDS = (
    "century january february march april may june july august september october november december today before"
    " after during"
)
_VALUES: dict[ValueKind, re.Pattern[str]] = {
    "number": re.compile(rf"\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b", re.IGNORECASE),
    "time": re.compile(rf"\d{{3,4}}|\b(?:{_TIME_WORDS.replace(' ', '|')})\b", re.IGNORECASE),
    "person": re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+"),
    "place": re.compile(r"\b(?:in|at|near|from|of|to) (?:the )?[A-Z`/]"),
}
_DEFINING_VERB = re.compile(
    r"\b(?:is|are|means|refers? to|stands? for|describes?|denotes?|was|were|consists? of|lets?|allows?|provides?)\b"
)


@dataclass(frozen=True, slots=True)
class UnitContext:
    """A unit with its terms, and the terms around it."""

    index: int  #: among all units of the passage, headings included
    unit: Unit
    terms: frozenset[str]  #: of the unit itself
    near_terms: frozenset[str]  #: of the headings above it and of the unit before it
    pairs: frozenset[tuple[str, str]]  #: of neighbouring terms in the unit


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A unit of a passage with its score."""

    passage: Passage
    context: UnitContext
    score: float

    @property
    def unit(self) -> Unit:
        return self.context.unit

    @property
    def index(self) -> int:
        return self.context.index


TermWeights: TypeAlias = Mapping[str, float]


def rank_units(question: QuestionType, passages: Sequence[Passage]) -> list[RankedUnit]:
    """Returns every unit except headings, the best match first; ties in reading order."""
    contexts = [(passage, context) for passage in passages for context in unit_contexts(passage)]
    weights = term_weights(question, [context for _, context in contexts])
    strongest = max(map(_passage_strength, passages), default=0.0) or 1.0
    ranking = [
        RankedUnit(
            passage,
            context,
            match_score(question, context, weights) + PASSAGE_WEIGHT * _passage_strength(passage) / strongest,
        )
        for passage, context in contexts
    ]
    return sorted(ranking, key=lambda ranked: (-ranked.score, ranked.passage.number, ranked.index))


def _passage_strength(passage: Passage) -> float:
    """Returns the strength of the match: the similarities of one question differ less, as they move to the best one."""
    return passage.strength or passage.score


def unit_contexts(passage: Passage) -> tuple[UnitContext, ...]:
    """Returns the units of a passage in reading order, without headings."""
    locator = passage.chunk.locator
    return _unit_contexts(passage.chunk.text, (locator.page_title, *locator.heading_path))


@lru_cache(maxsize=512)
def _unit_contexts(text: str, titles: tuple[str, ...]) -> tuple[UnitContext, ...]:
    heading_terms = content_words(" ".join(titles))
    previous: frozenset[str] = frozenset()
    contexts = []
    for index, unit in enumerate(units(text)):
        sequence = _content_sequence(unit.text)
        terms = frozenset(sequence)
        if unit.kind == "heading":
            heading_terms |= terms
            continue
        pairs = frozenset(pairwise(sequence))
        contexts.append(UnitContext(index, unit, terms, heading_terms | previous, pairs))
        previous = terms
    return tuple(contexts)


def _content_sequence(text: str) -> list[str]:
    return [word for word in words(text) if is_content_word(word)]


def term_weights(question: QuestionType, contexts: Sequence[UnitContext]) -> TermWeights:
    """Returns the weight of each term of the question, 1 in total: the rarer among the units, the higher."""
    counts = Counter(term for context in contexts for term in question.terms & context.terms)
    weights = {term: log(1 + len(contexts) / (1 + counts[term])) for term in question.terms}
    total = sum(weights.values()) or 1.0
    return {term: weight / total for term, weight in weights.items()}


def match_score(question: QuestionType, context: UnitContext, weights: TermWeights) -> float:
    """Returns how well a unit matches the question, whatever passage it is in."""
    inside = sum(weights[term] for term in question.terms & context.terms)
    nearby = sum(weights[term] for term in (question.terms & context.near_terms) - context.terms)
    score = inside + NEAR_WEIGHT * nearby
    if question.pairs:
        score += PAIR_WEIGHT * len(question.pairs & context.pairs) / len(question.pairs)
    if question.value != "any" and _VALUES[question.value].search(context.unit.text):
        score += VALUE_WEIGHT
    if question.kind == "definition" and inside and _is_definition(question, context.unit):
        score += DEFINITION_WEIGHT
    return score


def _is_definition(question: QuestionType, unit: Unit) -> bool:
    """Returns whether a sentence contains all terms of the question and starts with one of them before its verb."""
    subject = _definition_subject(unit)
    return bool(question.terms & subject) and question.terms <= content_words(unit.text)


def defines_asked(question: QuestionType, unit: Unit) -> bool:
    """Returns whether a sentence defines what the question asks about, or a part of its name: `A node is …` for `What
    is a ROS 2 node?`."""
    subject = _definition_subject(unit)
    return question.kind == "definition" and bool(subject) and subject <= question.terms


def _definition_subject(unit: Unit) -> frozenset[str]:
    """Returns the terms before the defining verb; empty for a unit that defines nothing."""
    verb = _DEFINING_VERB.search(unit.text)
    if unit.kind not in ("sentence", "item") or verb is None:
        return frozenset()
    return content_words(unit.text[: verb.start()])
