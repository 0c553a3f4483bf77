"""Cosine and word scores of the candidates → one strength each, and the order of the hits."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bookwise.domain.search import Candidate

# Measured on five books with one setting for all (docs/decisions/0005, docs/benchmarks.md, "Retrieval"):
LEXICAL_WEIGHT = 0.5  #: 0.4–0.8 are within noise of each other
SUPPORT_WEIGHT = 0.3  #: 0.1–0.3 are within noise; with 0 the first hit is right for 84 % instead of 94 % on one book
SUPPORT_CHUNKS = 2  #: the best chunks of a lesson that count as its support

#: The index proposes at least this many chunks by cosine and as many by words: six times the usual five results. A
#: chunk that one of the two ranks low can still win, and a few chunks of old revisions do not need a second query.
CANDIDATES_MIN = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionOptions:
    """How much shared words and the rest of the lesson add to the cosine."""

    lexical_weight: float = LEXICAL_WEIGHT
    support_weight: float = SUPPORT_WEIGHT


class Ranked(NamedTuple):
    """A candidate with its strength."""

    candidate: Candidate
    strength: float


def ranked(candidates: Sequence[Candidate], options: FusionOptions) -> list[Ranked]:
    """All candidates, strongest first. Ties are ordered by reference, so the input order has no influence.

    The strength is the cosine, plus a share for the words that the chunk has in common with the question, plus a share
    for the two best chunks of the lesson. All terms are absolute. A strength therefore means the same in every
    search and can be calibrated; a rank, or a score relative to the best hit, cannot.
    """
    own = {c.ref: c.cosine + options.lexical_weight * c.lexical for c in candidates}
    support = _support(candidates, own)
    strengths = [Ranked(c, own[c.ref] + options.support_weight * support[c.lesson]) for c in candidates]
    return sorted(strengths, key=lambda r: (-r.strength, r.candidate.ref))


def _support(candidates: Sequence[Candidate], own: dict[int, float]) -> dict[int, float]:
    """Per lesson, the mean of its two best candidates; a missing second one counts as 0."""
    by_lesson: defaultdict[int, list[float]] = defaultdict(list)
    for candidate in candidates:
        by_lesson[candidate.lesson].append(own[candidate.ref])
    return {lesson: sum(sorted(scores)[-SUPPORT_CHUNKS:]) / SUPPORT_CHUNKS for lesson, scores in by_lesson.items()}
