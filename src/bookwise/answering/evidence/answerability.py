"""Question + passages → answer signals; match strength + signals → how likely the book is to answer.

A chunk can be close to a question in meaning without answering it. Five signals separate the two cases:

- one sentence contains the rare words of the question (`fit`);
- that sentence is close to the question in meaning (`closeness`);
- one passage contains all names and numbers of the question (`names`);
- the book knows every word of the question (`unknown`);
- a question that says "not" meets a sentence that says "not" (`denied`).

They are used twice: `answerability` decides whether the book covers the question, and `ceiling` limits the confidence
of the answer however much else the book says about the subject.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.rank import rank_units, unit_contexts
from bookwise.domain.answers import Passage
from bookwise.text.words import WORD, is_content_word, is_negated, stem, strip_possessive, words

# All values were chosen on the development sets physical-ai and squad2 (docs/decisions/0007 and docs/benchmarks.md,
# Answers).

#: How far the best match of a question raises or lowers its other passages.
BEST_WEIGHT = 2 / 3

SENTENCE_WEIGHT = 0.28
USUAL_SENTENCE = 0.65  #: the fit that counts neither for nor against an answer
CLOSENESS_WEIGHT = 0.6
USUAL_CLOSENESS = 0.39  #: the cosine below which closeness adds nothing
NAMED_WEIGHT = 0.05  #: bonus when one passage contains all names
MISSING_WEIGHT = 0.2  #: penalty when no passage does
UNKNOWN_WEIGHT = 0.12
DENIED_WEIGHT = 0.4

#: Between these strengths the sentence is embedded too. Outside, its closeness could not change the decision.
DOUBTFUL_FROM = 0.3
DOUBTFUL_BELOW = 1.25
#: Over this distance below `DOUBTFUL_BELOW` the ceiling of a far sentence disappears gradually: without it, the last
#: bits of a vector decide between 0.68 and 0.89.
FADING = 0.1
SENTENCE_CHARACTERS = 300  #: embedded of a sentence; each further word costs time

LEAST_CEILING = 0.61  #: just above the least average of an answer: a ceiling lowers confidence, it never refuses
FAR_CEILING = 0.6  #: for a sentence with a closeness of 0
CLOSENESS_CEILING = 0.36  #: added for a closeness of 1
MISSING_CEILING = 0.2
DENIED_CEILING = 0.3

_PLAIN_FACT = re.compile(r"^\W*(?:what|which|who|whom|whose|when|where|how (?:many|much|long))\b", re.IGNORECASE)
_NAME_CHARACTER = re.compile(r"[\dA-Z_./]")


@dataclass(frozen=True, slots=True)
class AnswerSignals:
    """What the text of the passages says about whether they answer the question."""

    sentence: str  #: the sentence that most likely answers
    fit: float  #: of that sentence, by words
    names: bool | None  #: whether one passage contains all names of the question; None: it has none
    denied: bool  #: the question says "not", the sentence does not
    unknown: bool  #: a word of the question occurs nowhere in the book
    closeness: float | None = None  #: cosine of the sentence and the question; None: not measured
    doubt: float = 1.0  #: how much the closeness limits the confidence, 0 to 1


def read_signals(question: str, passages: Sequence[Passage], *, unknown: bool = False) -> AnswerSignals:
    """Returns the signals of the sentence that fits the question best, without its closeness."""
    ranking = rank_units(classify_question(question), passages)
    if not ranking:
        return AnswerSignals("", USUAL_SENTENCE, None, denied=False, unknown=unknown)
    names = question_names(question)
    sentence = ranking[0].unit.text
    return AnswerSignals(
        sentence=sentence[:SENTENCE_CHARACTERS],
        fit=ranking[0].score,
        names=any(names <= _passage_words(passage) for passage in passages) if names else None,
        denied=bool(_PLAIN_FACT.match(question)) and is_negated(question) and not is_negated(sentence),
        unknown=unknown,
    )


def answerability(strength: float, signals: AnswerSignals) -> float:
    """Returns the strength of the best match, corrected by the signals."""
    strength += SENTENCE_WEIGHT * (signals.fit - USUAL_SENTENCE)
    if signals.names is not None:
        strength += NAMED_WEIGHT if signals.names else -MISSING_WEIGHT
    if signals.closeness is not None:
        strength += CLOSENESS_WEIGHT * max(signals.closeness - USUAL_CLOSENESS, 0.0)
    return strength - DENIED_WEIGHT * signals.denied - UNKNOWN_WEIGHT * signals.unknown


def is_doubtful(strength: float) -> bool:
    """Returns whether the closeness of the sentence could still change the decision."""
    return DOUBTFUL_FROM <= strength < DOUBTFUL_BELOW


def doubt(strength: float) -> float:
    """Returns how much a far sentence limits the confidence: fully (1), or less the surer the match is (down to 0)."""
    return min(max((DOUBTFUL_BELOW - strength) / FADING, 0.0), 1.0)


def ceiling(signals: AnswerSignals) -> float:
    """Returns the highest similarity a passage may have: a book can be full of a subject without answering this."""
    limit = 1.0
    if signals.closeness is not None:
        limit -= signals.doubt * (1.0 - FAR_CEILING - CLOSENESS_CEILING * signals.closeness)
    limit -= MISSING_CEILING * (signals.names is False) + DENIED_CEILING * signals.denied
    return max(limit, LEAST_CEILING)


def question_names(question: str) -> frozenset[str]:
    """Returns the names, numbers and identifiers of a question: words without a synonym."""
    names: list[str] = []
    for index, match in enumerate(WORD.finditer(question)):
        token = match.group()
        if (index and token[0].isupper()) or _NAME_CHARACTER.search(token[1:]) or token[0].isdigit():
            spellings = [word for word in words(token) if is_content_word(word)]
            names.extend(spellings[1:] or spellings)  # the book may join the parts of a name in another way
    return frozenset(names)


def question_terms(question: str) -> list[str]:
    """Returns the words of a question that a book on its subject should contain, each once."""
    tokens = (strip_possessive(match.group()) for match in WORD.finditer(question))
    return [token for token in dict.fromkeys(tokens) if is_content_word(stem(token)) and not {"'", "’"} & set(token)]


def _passage_words(passage: Passage) -> frozenset[str]:
    return frozenset().union(*(unit.terms | unit.near_terms for unit in unit_contexts(passage)))
