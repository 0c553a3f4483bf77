"""Passages and a question → the sections they belong to, ranked by how well they answer.

The strength of a match says which chunk is near. Which section answers also shows in the words: one sentence that holds
most of the question counts, and so does the share of the question that the passage holds at all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights, term_weights, unit_contexts
from bookwise.domain.answers import Passage
from bookwise.text.words import content_words

# Chosen with `benchmarks.readers` on six books together (docs/benchmarks.md, Readers).
LEXICAL_WEIGHT = 0.3  #: added to the weight that shared words already have in the match strength
SENTENCE_WEIGHT = 0.2
COVERAGE_WEIGHT = 0.1
HEADING_WEIGHT = 0.1
FURNITURE_PENALTY = 0.2
CLOSENESS_WEIGHT = 0.4  #: of the cosine between the question and the likeliest sentence
CLOSENESS_SECTIONS = 4  #: maximum number of sections compared by it: every sentence costs an embedding
CLOSENESS_WITHIN = 0.25  #: a section further below the first could hardly overtake it
SENTENCE_CHARACTERS = 100  #: a longer sentence is cut: 200 characters were no better and took twice as long

_FURNITURE = re.compile(
    r"\b(?:quiz(?:zes)?|exercises?|objectives?|learning outcomes?|next steps?|what['’]?s next|summary|key takeaways?"
    r"|recap|further reading|references|try with ai|table of contents)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RankedSection:
    """A section, named by its best passage."""

    passage: Passage
    score: float
    sentence: str  #: the one that holds most of the question


def rank_sections(question: QuestionType, passages: Sequence[Passage], weights: TermWeights) -> list[RankedSection]:
    """One per section, best first; ties in the order of the passages."""
    best: dict[tuple[str, ...], RankedSection] = {}
    for passage in passages:
        key, section = _section_key(passage), _ranked(question.text, passage, weights)
        if key not in best or section.score > best[key].score:
            best[key] = section
    return _best_first(best.values())


def contenders(sections: Sequence[RankedSection]) -> list[RankedSection]:
    """The first sections that are so near to each other that their sentences should decide; none when one is ahead."""
    near = [section for section in sections if sections[0].score - section.score <= CLOSENESS_WITHIN]
    return near[:CLOSENESS_SECTIONS] if len(near) > 1 else []


def rerank_sections(sections: Sequence[RankedSection], closeness: Sequence[float]) -> list[RankedSection]:
    """The same, when it is known how close the sentences of the first ones are to the question in meaning."""
    first = [
        replace(section, score=section.score + CLOSENESS_WEIGHT * cosine)
        for section, cosine in zip(sections, closeness, strict=False)
    ]
    return [*_best_first(first), *sections[len(first) :]]


def _best_first(sections: Iterable[RankedSection]) -> list[RankedSection]:
    return sorted(sections, key=lambda section: (-section.score, section.passage.number))


def question_weights(question: QuestionType, passages: Iterable[Passage]) -> TermWeights:
    """Returns the weights of the question's terms among the units of these passages."""
    return term_weights(question, [unit for passage in passages for unit in unit_contexts(passage)])


def coverage(weights: TermWeights, words: frozenset[str]) -> float:
    """The weight of the question's words that are among these, 0–1."""
    return sum(weight for word, weight in weights.items() if word in words)


def is_furniture(title: str, question: str = "") -> bool:
    """Whether a heading announces a quiz, a summary or the like, and the question does not ask for one."""
    return bool(_FURNITURE.search(title)) and not _FURNITURE.search(question)


def _section_key(passage: Passage) -> tuple[str, ...]:
    where = passage.chunk.locator
    return (passage.chunk.lesson_id, where.anchor, *where.heading_path)


def _ranked(question: str, passage: Passage, weights: TermWeights) -> RankedSection:
    where, units = passage.chunk.locator, unit_contexts(passage)
    sentence, text = max(
        ((coverage(weights, unit.terms), unit.unit.text) for unit in units), key=itemgetter(0), default=(0.0, "")
    )
    words = frozenset().union(*(unit.terms for unit in units))
    heading = content_words(" ".join((where.page_title, *where.heading_path)))
    score = (
        (passage.strength or passage.score)
        + LEXICAL_WEIGHT * passage.lexical
        + SENTENCE_WEIGHT * sentence
        + COVERAGE_WEIGHT * coverage(weights, words)
        + HEADING_WEIGHT * coverage(weights, heading)
        - FURNITURE_PENALTY * is_furniture(where.section_title or "", question)
    )
    return RankedSection(passage, score, text[:SENTENCE_CHARACTERS])
