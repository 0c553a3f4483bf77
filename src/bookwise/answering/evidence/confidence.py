"""Similarities of the passages → confidence: the rules that separate an answer from a refusal."""

from collections.abc import Sequence
from math import fsum, hypot

from bookwise.domain.answers import Confidence, Level
from bookwise.domain.books import Vector

RULES: tuple[tuple[Level, float, int], ...] = (("high", 0.85, 5), ("medium", 0.75, 3), ("low", 0.60, 2))
"""(level, least average similarity, least number of passages); the first match counts. The values are required by the
specification of `ConfidenceMetrics` (docs/answers.md, Confidence)."""


LEAST_PASSAGES = RULES[-1][2]  #: fewer are not enough for an answer if there are more to be found


def level_of(average: float, count: int, *, is_only: bool = False) -> Level:
    """Returns the level of `count` passages with this average similarity.

    A book, or the part of it that is searched, can have a single passage (`is_only`). It then counts as the least
    number that is enough: no second one could be found.
    """
    if is_only and count == 1:
        count = LEAST_PASSAGES
    for level, least_average, least_count in RULES:
        if average >= least_average and count >= least_count:
            return level
    return "insufficient"


def has_sufficient_context(average: float, count: int) -> bool:
    """Returns whether the passages are enough for an answer without a disclaimer."""
    return level_of(average, count) in ("high", "medium")


def confidence_of(scores: Sequence[float], vectors: Sequence[Vector], *, is_only: bool = False) -> Confidence:
    """Returns the confidence of an answer from passages with these similarities and vectors; `is_only` if the searched
    part of the book has no other passage."""
    average = mean(scores)
    return Confidence(
        average=average,
        minimum=min(scores, default=0.0),
        maximum=max(scores, default=0.0),
        count=len(scores),
        diversity=diversity(vectors),
        similarity_level=level_of(average, len(scores), is_only=is_only),
    )


def mean(values: Sequence[float]) -> float:
    """Returns the mean, correctly rounded: five times 0.85 gives 0.85, and it is never outside the smallest and largest
    value. Returns 0 without values."""
    if not values:
        return 0.0
    return min(max(fsum(values) / len(values), min(values)), max(values))


def diversity(vectors: Sequence[Vector]) -> float:
    """Returns 1 − the mean cosine of all pairs, between 0 and 1; 0 if there is no pair.

    The squared length of the sum of n unit vectors is n plus twice the cosines of all pairs, so no loop over pairs is
    needed.
    """
    count = len(vectors)
    if count < 2:
        return 0.0
    total = map(sum, zip(*map(_unit, vectors), strict=True))
    pairs = (hypot(*total) ** 2 - sum(map(any, vectors))) / (count * (count - 1))
    return min(max(1.0 - pairs, 0.0), 1.0)


def _unit(vector: Vector) -> Sequence[float]:
    length = hypot(*vector)
    return [x / length for x in vector] if length else vector
