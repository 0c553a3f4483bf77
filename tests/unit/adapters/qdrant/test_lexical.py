"""BM25 terms and scores, independent of the engine."""

import math

import pytest

from bookwise.adapters.qdrant.lexical import (
    lexical_text,
    maximum_score,
    normalize_score,
    term_idf,
    unknown_term_idf,
)
from tests.support.builders import chunks


def test_a_word_of_a_title_is_indexed_three_times() -> None:
    (chunk,) = chunks("loops", "r1", "A topic carries messages.")
    titles = "Loops Part 0"
    assert lexical_text(chunk) == f"{titles}\n{titles}\n{titles}\n{chunk.text}"


def test_the_idf_of_a_term_is_its_score_per_weight() -> None:
    assert term_idf(3.0, 1.5) == 2.0


def test_an_unknown_term_is_rarer_than_any_known_term() -> None:
    """BM25 gives ln(1 + (N - n + 0.5) / (n + 0.5)) to a term in n of N chunks; n = 0 is the upper end."""
    for count in (0, 1, 10, 1_000):
        assert unknown_term_idf(count) == pytest.approx(math.log(1 + (count + 0.5) / 0.5))


def test_the_maximum_counts_every_term_of_the_query() -> None:
    assert maximum_score([1.0, 2.0], 10) == pytest.approx(3.0 * 2.2)
    assert maximum_score([1.0, None], 10) == pytest.approx((1.0 + math.log(22)) * 2.2)


def test_the_maximum_is_positive_without_terms() -> None:
    assert maximum_score([], 10) > 0
    assert maximum_score([0.0], 0) > 0


def test_a_normalize_score_lies_between_0_and_1() -> None:
    assert normalize_score(0.0, 2.0) == 0.0
    assert normalize_score(0.5, 2.0) == 0.25
    assert normalize_score(2.1, 2.0) == 1.0


def test_more_unknown_words_lower_the_score_of_the_same_chunk() -> None:
    undiluted = normalize_score(2.0, maximum_score([1.0, 1.0], 10))
    diluted = normalize_score(2.0, maximum_score([1.0, 1.0, None], 10))
    assert diluted < undiluted
