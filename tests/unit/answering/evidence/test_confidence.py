"""How sure the passages make us: the table of levels at each of its edges."""

from functools import reduce
from math import inf, nextafter, sqrt
from operator import add

import pytest

from bookwise.answering.evidence.confidence import confidence_of, diversity, has_sufficient_context, level_of, mean
from bookwise.domain.answers import Level
from bookwise.domain.books import Vector


def below(value: float) -> float:
    return nextafter(value, -inf)


def above(value: float) -> float:
    return nextafter(value, inf)


@pytest.mark.parametrize(
    ("average", "count", "level"),
    [
        (1.0, 5, "high"),
        (above(0.85), 5, "high"),
        (0.85, 5, "high"),
        (0.85, 6, "high"),
        (below(0.85), 5, "medium"),
        (0.85, 4, "medium"),
        (1.0, 4, "medium"),
        (above(0.75), 3, "medium"),
        (0.75, 3, "medium"),
        (0.75, 4, "medium"),
        (0.75, 100, "medium"),
        (below(0.75), 3, "low"),
        (0.75, 2, "low"),
        (1.0, 2, "low"),
        (above(0.60), 2, "low"),
        (0.60, 2, "low"),
        (0.60, 3, "low"),
        (0.60, 100, "low"),
        (below(0.60), 2, "insufficient"),
        (below(0.60), 100, "insufficient"),
        (0.60, 1, "insufficient"),
        (1.0, 1, "insufficient"),
        (1.0, 0, "insufficient"),
        (0.0, 0, "insufficient"),
        (0.0, 5, "insufficient"),
        (-1.0, 5, "insufficient"),
    ],
)
def test_the_level_changes_exactly_at_the_edges_of_the_table(average: float, count: int, level: Level) -> None:
    assert level_of(average, count) == level


@pytest.mark.parametrize(
    ("average", "count", "sufficient"),
    [
        (0.75, 3, True),
        (0.75, 2, False),
        (below(0.75), 3, False),
        (above(0.75), 3, True),
        (0.75, 4, True),
        (0.85, 5, True),
        (1.0, 2, False),
        (0.0, 0, False),
    ],
)
def test_three_passages_with_an_average_of_three_quarters_are_sufficient_context(
    average: float, count: int, *, sufficient: bool
) -> None:
    assert has_sufficient_context(average, count) is sufficient


@pytest.mark.parametrize(
    ("scores", "level", "answers"),
    [
        ((0.85,) * 5, "high", True),
        ((0.95, 0.9, 0.85, 0.8, 0.75), "high", True),
        ((0.85,) * 4, "medium", True),
        ((0.75,) * 3, "medium", True),
        ((0.6, 0.6), "low", True),
        ((0.9, 0.2), "insufficient", False),
        ((0.99,), "insufficient", False),
        ((), "insufficient", False),
    ],
)
def test_only_insufficient_passages_are_refused(scores: tuple[float, ...], level: Level, *, answers: bool) -> None:
    confidence = confidence_of(scores, ())
    assert confidence.similarity_level == level
    assert confidence.should_answer is answers


@pytest.mark.parametrize(
    ("scores", "level"),
    [((0.6,), "low"), ((1.0,), "low"), ((below(0.60),), "insufficient"), ((), "insufficient"), ((0.85,) * 5, "high")],
)
def test_the_only_passage_there_is_counts_as_the_least_number(scores: tuple[float, ...], level: Level) -> None:
    assert confidence_of(scores, (), is_only=True).similarity_level == level


def test_a_confidence_tells_the_least_the_greatest_and_the_average_similarity() -> None:
    confidence = confidence_of((0.5, 1.0, 0.75), ())
    assert (confidence.minimum, confidence.average, confidence.maximum, confidence.count) == (0.5, 0.75, 1.0, 3)


def test_nothing_found_has_a_confidence_of_zeros() -> None:
    confidence = confidence_of((), ())
    assert (confidence.minimum, confidence.average, confidence.maximum) == (0.0, 0.0, 0.0)
    assert (confidence.count, confidence.diversity) == (0, 0.0)


def test_a_tenth_ten_times_averages_to_a_tenth_although_its_sum_is_rounded() -> None:
    assert reduce(add, [0.1] * 10) != 1.0  # what a plain sum would make of it; that of Python 3.12 is exact
    assert mean([0.1] * 10) == 0.1


def as_written_down(vectors: list[Vector]) -> float:
    """The formula of the specification, step by step."""
    pairs = []
    for i in range(len(vectors)):
        for j in range(i + 1, len(vectors)):
            one, other = vectors[i], vectors[j]
            dot = sum(a * b for a, b in zip(one, other, strict=True))
            pairs.append(dot / (sqrt(sum(a * a for a in one)) * sqrt(sum(b * b for b in other))))
    return 1.0 - sum(pairs) / len(pairs) if pairs else 0.0


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [(1.0, 0.0)],
        [(1.0, 0.0), (1.0, 0.0)],
        [(1.0, 0.0), (0.0, 1.0)],
        [(1.0, 0.0), (0.6, 0.8), (0.0, 1.0)],
        [(3.0, 4.0), (30.0, 40.0), (4.0, 3.0), (5.0, 0.0)],
        [(0.2, 0.4, 0.1), (0.9, 0.1, 0.3), (0.5, 0.5, 0.5), (0.1, 0.8, 0.2)],
    ],
)
def test_diversity_is_one_less_the_mean_cosine_of_all_pairs(vectors: list[Vector]) -> None:
    assert diversity(vectors) == pytest.approx(as_written_down(vectors), abs=1e-12)


def test_equal_passages_have_no_diversity_and_unrelated_ones_all_of_it() -> None:
    assert diversity([(0.3, 0.7, 0.1)] * 4) == pytest.approx(0.0, abs=1e-12)
    assert diversity([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]) == 1.0


def test_diversity_stays_within_its_bounds_for_opposite_and_for_empty_vectors() -> None:
    assert diversity([(1.0, 0.0), (-1.0, 0.0)]) == 1.0
    assert diversity([(0.0, 0.0), (1.0, 0.0)]) == 1.0
