"""Cosine and word scores of the candidates → one strength each, and the order of the hits."""

from collections import defaultdict
from collections.abc import Sequence
from math import log
from typing import NamedTuple

from bookwise.domain.search import Candidate

# Measured with one setting for all books (docs/decisions/0005, docs/benchmarks.md, "Retrieval"):
LEXICAL_WEIGHT = 0.5  #: of shared words in the strength, which is calibrated; fixed, so that the scale is
#: Of shared words in the order, times log(1 + terms): the word score is a share of all terms of the question, so in a
#: long question every single word counts less. 0.3–0.5 are within noise of each other.
ORDER_WEIGHT = 0.45
SUPPORT_WEIGHT = 0.3  #: 0.1–0.5 are within noise; with 0 the first hit is right for 84 % instead of 94 % on one book
SUPPORT_CHUNKS = 2  #: the best chunks of a lesson that count as its support

#: The index proposes at least this many chunks by cosine and as many by words: six times the usual five results. A
#: chunk that one of the two ranks low can still win, and a few chunks of old revisions do not need a second query.
CANDIDATES_MIN = 30


class Ranked(NamedTuple):
    """A candidate with its strength, and with the relevance that orders the hits of one question."""

    candidate: Candidate
    strength: float
    relevance: float


def ranked(candidates: Sequence[Candidate], terms: int) -> list[Ranked]:
    """All candidates for a question with this many terms, most relevant first. Ties are ordered by reference, so the
    input order has no influence.

    The strength is the cosine, plus a share for the words that the chunk has in common with the question, plus a share
    for the two best chunks of the lesson. All parts are absolute. A strength therefore means the same in every
    search and can be calibrated; a rank, or a score relative to the best hit, cannot. The relevance is the same sum
    with more weight on words, and more still in a long question.
    """
    strengths = _sums(candidates, LEXICAL_WEIGHT)
    relevance = _sums(candidates, max(LEXICAL_WEIGHT, ORDER_WEIGHT * log(1 + terms)))
    matches = [Ranked(c, strengths[c.ref], relevance[c.ref]) for c in candidates]
    return sorted(matches, key=lambda match: (-match.relevance, match.candidate.ref))


def _sums(candidates: Sequence[Candidate], lexical_weight: float) -> dict[int, float]:
    own = {c.ref: c.cosine + lexical_weight * c.lexical for c in candidates}
    support = _support(candidates, own)
    return {c.ref: own[c.ref] + SUPPORT_WEIGHT * support[c.lesson] for c in candidates}


def _support(candidates: Sequence[Candidate], own: dict[int, float]) -> dict[int, float]:
    """Per lesson, the mean of its two best candidates; a missing second one counts as 0."""
    by_lesson: defaultdict[int, list[float]] = defaultdict(list)
    for candidate in candidates:
        by_lesson[candidate.lesson].append(own[candidate.ref])
    return {lesson: sum(sorted(scores)[-SUPPORT_CHUNKS:]) / SUPPORT_CHUNKS for lesson, scores in by_lesson.items()}
