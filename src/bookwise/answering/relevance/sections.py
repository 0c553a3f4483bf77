"""Passages and a question → the sections they belong to, ranked by how well they answer.

The strength of a match says which chunk is near. Which section answers also shows in the words: in one sentence that
holds most of the question, in the heading, in neighbouring words that are neighbours in the question too, and in the
kind of block that the question asks for.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights, UnitContext, term_weights, unit_contexts
from bookwise.domain.answers import Passage, RankedSection
from bookwise.text.blocks import markdown_blocks
from bookwise.text.opposites import opposites
from bookwise.text.words import content_words, stem, words

# Learned on 186 questions of six books: the log-likelihood of the right section, cross-validated by book. Divided by
# the weight of the strength and rounded (docs/benchmarks.md, Readers).
LEXICAL_WEIGHT = 0.65  #: added to the weight that shared words already have in the strength
SENTENCE_WEIGHT = 0.25
COVERAGE_WEIGHT = 0.1
TITLE_WEIGHT = 0.5  #: of the question's words in the title of the section
PAGE_WEIGHT = 0.25  #: in the title of the lesson
PAIR_WEIGHT = 0.4
KIND_WEIGHT = 0.25  #: when the section has a block of the kind that is asked for
FURTHER_WEIGHT = 0.1  #: for each further passage of the same section
FURNITURE_PENALTY = 0.5  #: for a quiz, objectives, a summary: shown only if nothing else is near
OPPOSITE_PENALTY = 0.5  #: for a heading such as `Remove ROS 2` when the question is how to install it; set by hand
CLOSENESS_WEIGHT = 0.5  #: of the cosine between the question and the likeliest sentence
CLOSENESS_SECTIONS = 4  #: maximum number of sections compared by it: every sentence costs an embedding
CLOSENESS_WITHIN = 0.4  #: a section further below the first could hardly overtake it
SENTENCE_CHARACTERS = 100  #: a longer sentence is cut: 200 characters were no better and took twice as long

#: Headings of parts that only surround the text: anywhere in a heading, or as the whole of it.
_FURNITURE = re.compile(
    r"\b(?:quiz(?:zes)?|learning (?:objectives?|outcomes?|goals?)|what (?:you['’]ll|you will|we will|we['’]ll) learn"
    r"|next (?:steps?|lesson|chapter)|what['’]?s next|key takeaways?|further reading|(?:additional|further) resources"
    r"|try (?:it )?with ai|try it yourself|table of contents|check your understanding|knowledge check"
    r"|review questions|self[- ](?:test|check|assessment))\b"
    r"|^[\W\d]*(?:exercises?|objectives?|summary|recap|references|resources|conclusion|assessment|homework|practice"
    r"|prerequisites)\W*$",
    re.IGNORECASE,
)
_MAKING = frozenset(map(stem, ("create", "write", "implement")))  #: `Write a node` is how to create one
_DOING = frozenset({"how-to", "steps", "command", "code"})  #: kinds of questions that ask for an action
_QUESTION_SHARE = 0.5  #: of the sentences of a section; from here on it asks more than it says


def rank_sections(question: QuestionType, passages: Sequence[Passage], weights: TermWeights) -> list[RankedSection]:
    """One per section, best first; ties in the order of the passages."""
    sections: dict[tuple[str, ...], list[RankedSection]] = {}
    for passage in passages:
        sections.setdefault(_section_key(passage), []).append(_ranked(question, passage, weights))
    return _best_first(_with_support(members) for members in sections.values())


def _with_support(members: Sequence[RankedSection]) -> RankedSection:
    """The best of the passages of one section; the others speak for it too."""
    best = _best_first(members)[0]
    return replace(best, score=best.score + FURTHER_WEIGHT * (len(members) - 1))


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


def _title_words(title: str) -> frozenset[str]:
    """The words of a heading. One that starts with a verb for making something has the other such verbs, too."""
    return content_words(title) | (_MAKING if _action(title) in _MAKING else frozenset())


def _does_opposite(question: QuestionType, title: str) -> bool:
    """Whether a heading starts with the opposite of an action that the question asks for."""
    return question.kind in _DOING and not question.terms.isdisjoint(opposites(_action(title)) - content_words(title))


def _action(title: str) -> str:
    """The first word of a heading, stemmed: in `Write a node` and `Writing a node`, the verb."""
    return next(iter(words(title)), "")


def _only_asks(units: Sequence[UnitContext]) -> bool:
    """Whether a passage is mostly questions, as a quiz is."""
    sentences = [unit.unit.text for unit in units if unit.unit.kind in ("sentence", "item")]
    asking = sum(text.rstrip("*_ )").endswith("?") for text in sentences)
    return asking > 1 and asking >= _QUESTION_SHARE * len(sentences)


def _section_key(passage: Passage) -> tuple[str, ...]:
    where = passage.chunk.locator
    return (passage.chunk.lesson_id, where.anchor, *where.heading_path)


def _ranked(question: QuestionType, passage: Passage, weights: TermWeights) -> RankedSection:
    where, units = passage.chunk.locator, unit_contexts(passage)
    sentence, text = max(
        ((coverage(weights, unit.terms), unit.unit.text) for unit in units), key=itemgetter(0), default=(0.0, "")
    )
    terms = frozenset().union(*(unit.terms for unit in units))
    score = (
        (passage.strength or passage.score)
        + LEXICAL_WEIGHT * passage.lexical
        + SENTENCE_WEIGHT * sentence
        + COVERAGE_WEIGHT * coverage(weights, terms)
        + TITLE_WEIGHT * coverage(weights, _title_words(where.section_title or ""))
        + PAGE_WEIGHT * coverage(weights, content_words(where.page_title))
        + PAIR_WEIGHT * _shared_pairs(question, units)
        + KIND_WEIGHT * _has_wanted_block(question, passage)
        - OPPOSITE_PENALTY * _does_opposite(question, where.section_title or "")
        - FURNITURE_PENALTY * (is_furniture(where.section_title or "", question.text) or _only_asks(units))
    )
    return RankedSection(passage=passage, score=score, sentence=text[:SENTENCE_CHARACTERS])


def _shared_pairs(question: QuestionType, units: Sequence[UnitContext]) -> float:
    """The share of the question's neighbouring words that are neighbours in the passage."""
    if not question.pairs:
        return 0.0
    return len(question.pairs & frozenset().union(*(unit.pairs for unit in units))) / len(question.pairs)


def _has_wanted_block(question: QuestionType, passage: Passage) -> bool:
    return any(map(question.wants, markdown_blocks(passage.chunk.text)))
