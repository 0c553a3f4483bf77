"""Question + passages → the units of the passages, ranked by how well they answer.

`rank_units` serves the decision whether a question can be answered, `rank_answer_units` the answer itself.
"""

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

# Weights of a unit's score. A unit that contains every term of the question scores 1; everything below is added to
# that. The values were chosen with `benchmarks.answers` on physical-ai and squad2 (docs/benchmarks.md, Answers).
NEAR_WEIGHT = 0.4  #: of a term in the headings or the unit before, compared with a term in the unit itself
PASSAGE_WEIGHT = 0.35  #: for a unit of the strongest passage; less for weaker passages
PAIR_WEIGHT = 0.15  #: when all neighbouring terms of the question are neighbours in the unit too
VALUE_WEIGHT = 0.15  #: when a question for a number, time, person or place meets a unit with one
DEFINITION_WEIGHT = 0.35  #: when a question for a definition meets one
CATEGORY_WEIGHT = 0.1  #: for a definition that says what the thing is, not what happens to it
CATEGORY_EXTRA_TERMS = 2  #: terms such a definition may have before its verb that the question does not have
HEADING_WEIGHT = 0.5  #: of a term in the heading, when the question asks for a procedure
STEP_WEIGHT = 0.2  #: for a numbered step, a shell command or a lead-in, when the question asks for a procedure

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
_EVENT = re.compile(r" (?:not|\w+(?:ed|ing))\b")
_STEP = re.compile(
    r"^\s*\d{1,3}[.)]\s|^(?:`{3,}|~{3,})\s*(?:bash|sh|shell|zsh|console|powershell|cmd)\b|(?<!:):[*_]*\Z"
)


@dataclass(frozen=True, slots=True)
class UnitContext:
    """A unit with its terms, and the terms around it."""

    index: int  #: among all units of the passage, headings included
    unit: Unit
    heading: str
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


_Weights: TypeAlias = dict[str, float]
_Score: TypeAlias = Callable[[QuestionType, UnitContext, _Weights], float]


def rank_units(question: QuestionType, passages: Sequence[Passage]) -> list[RankedUnit]:
    """Returns every unit except headings, the best match first; ties in reading order."""
    return _ranked(question, passages, _match_score)


def rank_answer_units(question: QuestionType, passages: Sequence[Passage]) -> list[RankedUnit]:
    """Returns the same units by how well they read as an answer.

    A procedure prefers steps and commands, a definition prefers sentences that define, and a table is scored by its
    best row instead of all its words.
    """
    return _ranked(question, passages, _answer_score)


def _ranked(question: QuestionType, passages: Sequence[Passage], score: _Score) -> list[RankedUnit]:
    contexts = [(passage, context) for passage in passages for context in unit_contexts(passage)]
    weights = _term_weights(question, [context for _, context in contexts])
    strongest = max(map(_passage_strength, passages), default=0.0) or 1.0
    ranking = [
        RankedUnit(
            passage,
            context,
            score(question, context, weights) + PASSAGE_WEIGHT * _passage_strength(passage) / strongest,
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
    title, heading_terms = titles[-1], content_words(" ".join(titles))
    previous: frozenset[str] = frozenset()
    contexts = []
    for index, unit in enumerate(units(text)):
        sequence = _content_sequence(unit.text)
        terms = frozenset(sequence)
        if unit.kind == "heading":
            title, heading_terms = unit.text.strip("# "), heading_terms | terms
            continue
        pairs = frozenset(pairwise(sequence))
        contexts.append(UnitContext(index, unit, title, terms, heading_terms | previous, pairs))
        previous = terms
    return tuple(contexts)


def _content_sequence(text: str) -> list[str]:
    return [word for word in words(text) if is_content_word(word)]


def _term_weights(question: QuestionType, contexts: Sequence[UnitContext]) -> _Weights:
    """Returns the weight of each term of the question, 1 in total: the rarer among the units, the higher."""
    counts = Counter(term for context in contexts for term in question.terms & context.terms)
    weights = {term: log(1 + len(contexts) / (1 + counts[term])) for term in question.terms}
    total = sum(weights.values()) or 1.0
    return {term: weight / total for term, weight in weights.items()}


def _match_score(question: QuestionType, context: UnitContext, weights: _Weights) -> float:
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


def _answer_score(question: QuestionType, context: UnitContext, weights: _Weights) -> float:
    if context.unit.kind == "table" and question.kind != "comparison":
        return max(_match_score(question, row, weights) for row in _table_rows(context))
    if question.kind == "procedure":
        return _procedure_score(question, context, weights)
    if question.kind == "definition":
        return _definition_score(question, context, weights)
    return _match_score(question, context, weights)


def _definition_score(question: QuestionType, context: UnitContext, weights: _Weights) -> float:
    """Returns how well a unit defines. For "a ROS 2 node", a definition of "node" counts as a full match, because a
    book on ROS 2 does not repeat the rest."""
    full = _is_definition(question, context.unit)
    partial = not full and _defines_subject(question, context.unit)
    if partial:
        context = replace(context, terms=context.terms | question.terms)
    names_category = (full or partial) and _names_category(question, context.unit)
    return _match_score(question, context, weights) + DEFINITION_WEIGHT * partial + CATEGORY_WEIGHT * names_category


def _procedure_score(question: QuestionType, context: UnitContext, weights: _Weights) -> float:
    """Returns how well a unit says what to do. A heading names the purpose of the steps and code below it; the words
    in a program say little about its purpose, the words of a shell command say much."""
    heading_terms = content_words(context.heading)
    is_step = bool(_STEP.search(context.unit.text) and question.terms & (context.terms | context.near_terms))
    in_heading = sum(weights[term] for term in question.terms & heading_terms)
    if context.unit.kind == "code":
        context = replace(context, terms=context.terms | heading_terms if is_step else heading_terms)
    elif is_step and context.unit.kind == "item":
        context = replace(context, terms=context.terms | heading_terms)
    return _match_score(question, context, weights) + STEP_WEIGHT * is_step + HEADING_WEIGHT * in_heading


def _table_rows(table: UnitContext) -> list[UnitContext]:
    """Returns each row of a table as a unit, together with the header."""
    header, *rows = table.unit.text.splitlines()
    sequences = [_content_sequence(f"{header}\n{row}") for row in rows or [""]]
    return [replace(table, terms=frozenset(row), pairs=frozenset(pairwise(row))) for row in sequences]


def _is_definition(question: QuestionType, unit: Unit) -> bool:
    """Returns whether a sentence contains all terms of the question and starts with one of them before its verb."""
    subject = _definition_subject(unit)
    return bool(question.terms & subject) and question.terms <= content_words(unit.text)


def _defines_subject(question: QuestionType, unit: Unit) -> bool:
    """Returns whether a sentence defines the subject of the question and nothing else."""
    return question.subject in (subject := _definition_subject(unit)) and subject <= question.terms


def _names_category(question: QuestionType, unit: Unit) -> bool:
    """Returns whether a definition says what the thing is, and has few other terms before its verb."""
    verb = _DEFINING_VERB.search(unit.text)
    if verb is None or _EVENT.match(unit.text, verb.end()):
        return False
    return len(content_words(unit.text[: verb.start()]) - question.terms) <= CATEGORY_EXTRA_TERMS


def _definition_subject(unit: Unit) -> frozenset[str]:
    """Returns the terms before the defining verb; empty for a unit that defines nothing."""
    verb = _DEFINING_VERB.search(unit.text)
    if unit.kind not in ("sentence", "item") or verb is None:
        return frozenset()
    return content_words(unit.text[: verb.start()])
