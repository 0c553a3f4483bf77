"""Laws of confidence: any similarities, any vectors."""

from hypothesis import given
from hypothesis import strategies as st

from bookwise.answering.evidence.confidence import confidence_of, diversity, level_of
from bookwise.domain.books import Vector

ORDER = ("insufficient", "low", "medium", "high")
SIMILARITY = st.floats(0.0, 1.0)
COUNT = st.integers(0, 12)
PART = st.floats(-1e3, 1e3, allow_nan=False)


def rank(average: float, count: int) -> int:
    return ORDER.index(level_of(average, count))


@given(st.lists(SIMILARITY, max_size=100))
def test_the_average_lies_between_the_least_and_the_greatest(scores: list[float]) -> None:
    confidence = confidence_of(scores, ())
    assert confidence.minimum <= confidence.average <= confidence.maximum


@given(SIMILARITY, st.integers(1, 100))
def test_equal_similarities_average_to_exactly_that_similarity(score: float, count: int) -> None:
    confidence = confidence_of([score] * count, ())
    assert confidence.average == score
    assert confidence.similarity_level == level_of(score, count)


@given(st.permutations([0.1, 0.2, 0.3, 0.7, 0.9]))
def test_the_order_of_the_passages_changes_nothing(scores: list[float]) -> None:
    assert confidence_of(scores, ()) == confidence_of(sorted(scores), ())


@given(SIMILARITY, SIMILARITY, COUNT)
def test_a_greater_average_never_makes_us_less_sure(one: float, other: float, count: int) -> None:
    assert rank(min(one, other), count) <= rank(max(one, other), count)


@given(SIMILARITY, COUNT, COUNT)
def test_more_passages_of_the_same_average_never_make_us_less_sure(average: float, one: int, other: int) -> None:
    assert rank(average, min(one, other)) <= rank(average, max(one, other))


@given(st.lists(st.tuples(PART, PART, PART), max_size=6))
def test_diversity_is_a_share(vectors: list[Vector]) -> None:
    assert 0.0 <= diversity(vectors) <= 1.0
