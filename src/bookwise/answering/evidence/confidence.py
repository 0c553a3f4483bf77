"""Similarities of the passages → Confidence: the rules that decide between an answer and a refusal."""

from collections.abc import Sequence
from math import fsum, hypot

from bookwise.domain.answers import Confidence, Level
from bookwise.domain.books import Vector

RULES: tuple[tuple[Level, float, int], ...] = (("high", 0.85, 5), ("medium", 0.75, 3), ("low", 0.60, 2))
"""(level, least average similarity, least number of passages); the first that holds counts."""


def level_of(average: float, count: int) -> Level:
    """The level of so many passages with this average similarity."""
    for level, least_average, least_count in RULES:
        if average >= least_average and count >= least_count:
            return level
    return "insufficient"


def has_sufficient_context(average: float, count: int) -> bool:
    """Whether the passages alone suffice for an answer without a disclaimer."""
    return level_of(average, count) in ("high", "medium")


def confidence_of(scores: Sequence[float], vectors: Sequence[Vector]) -> Confidence:
    """How sure these passages make us: their similarities, and how much they differ among themselves."""
    average = mean(scores)
    return Confidence(
        average=average,
        minimum=min(scores, default=0.0),
        maximum=max(scores, default=0.0),
        count=len(scores),
        diversity=diversity(vectors),
        level=level_of(average, len(scores)),
    )


def mean(values: Sequence[float]) -> float:
    """Correctly rounded, and so never outside the smallest and largest value: five times 0.85 make 0.85."""
    if not values:
        return 0.0
    return min(max(fsum(values) / len(values), min(values)), max(values))


def diversity(vectors: Sequence[Vector]) -> float:
    """1 − the mean cosine of all pairs, 0–1; 0 when there is no pair.

    The sum of n unit vectors has a squared length of n plus twice the cosines of all pairs, so no pair need be visited.
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
