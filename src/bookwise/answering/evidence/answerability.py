"""A question and its passages → the strength of the match when the text itself is read, not only its vector.

A chunk may be close to a question in meaning and yet not answer it. Five things tell: whether one sentence carries
the question's rare words, how close that sentence is in meaning, whether the names and numbers of the question stand
in one passage, whether the book knows all its words at all, and whether a question that says "not" meets a sentence
that does. They say two things: whether the book speaks of it (`answerability`), and how sure one may be at most,
however much else it says about the subject (`ceiling`). The weights were chosen on the development sets
(docs/decisions/0007).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.rank import rank_units, unit_contexts
from bookwise.domain.answers import Passage
from bookwise.text.words import WORD, is_content_word, is_negated, stem, strip_possessive, words

SENTENCE_WEIGHT = 0.28
USUAL_SENTENCE = 0.65  #: the fit that speaks neither for nor against an answer
HOPELESS = 0.3
SURE = 1.25
CLOSENESS_WEIGHT = 0.6
USUAL_CLOSENESS = 0.39
NAMED_WEIGHT = 0.05
MISSING_WEIGHT = 0.2
UNKNOWN_WEIGHT = 0.12
DENIED_WEIGHT = 0.4
SENTENCE_CHARACTERS = 300  #: what is longer is cut: every word takes time

LEAST_CEILING = 0.61  #: just enough for an answer, so that a ceiling makes unsure but refuses nothing
FAR_CEILING = 0.6
CLOSENESS_CEILING = 0.36
MISSING_CEILING = 0.2
DENIED_CEILING = 0.3

_PLAIN_FACT = re.compile(r"^\W*(?:what|which|who|whom|whose|when|where|how (?:many|much|long))\b", re.IGNORECASE)
_MARKED = re.compile(r"[\dA-Z_./]")


@dataclass(frozen=True, slots=True)
class AnswerSignals:
    """What the text of the passages says about whether they answer."""

    sentence: str  #: the likeliest one
    fit: float  #: by words
    names: bool | None  #: whether one passage holds all names of the question; None when it has none
    denied: bool  #: the question says "not", and the sentence does not
    unknown: bool  #: a word of the question stands nowhere in the book


def read_signals(question: str, passages: Sequence[Passage], *, unknown: bool = False) -> AnswerSignals:
    """The signs, read from the sentence that fits the question best."""
    found = rank_units(classify_question(question), passages)
    if not found:
        return AnswerSignals("", USUAL_SENTENCE, None, denied=False, unknown=unknown)
    named = question_names(question)
    best = found[0].unit.text
    return AnswerSignals(
        sentence=best[:SENTENCE_CHARACTERS],
        fit=found[0].score,
        names=any(named <= _words_of(passage) for passage in passages) if named else None,
        denied=bool(_PLAIN_FACT.match(question)) and is_negated(question) and not is_negated(best),
        unknown=unknown,
    )


def answerability(strength: float, signs: AnswerSignals) -> float:
    """The strength of the best match, corrected by what its text says."""
    strength += SENTENCE_WEIGHT * (signs.fit - USUAL_SENTENCE)
    if signs.names is not None:
        strength += NAMED_WEIGHT if signs.names else -MISSING_WEIGHT
    return strength - DENIED_WEIGHT * signs.denied - UNKNOWN_WEIGHT * signs.unknown


def is_doubtful(strength: float) -> bool:
    """Whether the meaning of the one sentence could still decide: a sure match needs no second look, a hopeless one
    cannot be saved by it."""
    return HOPELESS <= strength < SURE


def add_closeness(strength: float, closeness: float) -> float:
    """A doubtful match, strengthened by how close its sentence is to the question in meaning, by cosine."""
    return strength + CLOSENESS_WEIGHT * max(closeness - USUAL_CLOSENESS, 0.0)


def ceiling(signs: AnswerSignals, closeness: float | None) -> float:
    """The most that the similarity of a passage may be: a book can be full of a subject without answering this.
    `closeness` is None where nobody looked."""
    most = 1.0 if closeness is None else FAR_CEILING + CLOSENESS_CEILING * closeness
    most -= MISSING_CEILING * (signs.names is False) + DENIED_CEILING * signs.denied
    return max(most, LEAST_CEILING)


def question_names(question: str) -> frozenset[str]:
    """The names, numbers and identifiers of a question: words that no other word can stand for."""
    found: list[str] = []
    for index, match in enumerate(WORD.finditer(question)):
        token = match.group()
        if (index and token[0].isupper()) or _MARKED.search(token[1:]) or token[0].isdigit():
            spellings = [word for word in words(token) if is_content_word(word)]
            found.extend(spellings[1:] or spellings)  # a name of several parts may be joined in another way
    return frozenset(found)


def question_terms(question: str) -> list[str]:
    """The words of a question that a book on its subject should know."""
    tokens = (strip_possessive(match.group()) for match in WORD.finditer(question))
    return [token for token in dict.fromkeys(tokens) if is_content_word(stem(token)) and not {"'", "’"} & set(token)]


def _words_of(passage: Passage) -> frozenset[str]:
    return frozenset().union(*(place.own | place.near for place in unit_contexts(passage)))
