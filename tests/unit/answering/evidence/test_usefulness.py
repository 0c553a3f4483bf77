"""How likely an answer is to be useful: each signal moves the probability in one direction only."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.answering.evidence.usefulness import LEAD_MAX, usefulness
from bookwise.domain.answers import usefulness_level

USUAL: dict[str, Any] = {
    "similarity": 0.82,
    "lead": 0.2,
    "agreement": True,
    "names_missing": False,
}
SHARE = st.floats(0, 1)


@given(SHARE, st.floats(0, 3), st.booleans(), st.booleans())
def test_a_usefulness_is_a_probability(similarity: float, lead: float, agreement: bool, names_missing: bool) -> None:
    found = usefulness(similarity=similarity, lead=lead, agreement=agreement, names_missing=names_missing)
    assert 0 < found < 1


@pytest.mark.parametrize(
    ("better", "least"),
    [
        ({"similarity": 0.9}, 0.05),
        ({"lead": 0.5}, 0.03),
    ],
)
def test_more_of_a_signal_makes_an_answer_more_likely_to_be_useful(better: dict[str, Any], least: float) -> None:
    assert usefulness(**{**USUAL, **better}) - usefulness(**USUAL) > least


@pytest.mark.parametrize(("worse", "least"), [({"agreement": False}, 0.03), ({"names_missing": True}, 0.1)])
def test_disagreement_or_a_missing_name_makes_it_less_likely(worse: dict[str, Any], least: float) -> None:
    assert usefulness(**USUAL) - usefulness(**{**USUAL, **worse}) > least


def test_a_lead_beyond_the_longest_says_nothing_more() -> None:
    assert usefulness(**{**USUAL, "lead": LEAD_MAX}) == usefulness(**{**USUAL, "lead": 2 * LEAD_MAX})


def test_a_usual_match_is_medium_a_strong_one_high_and_a_weak_one_low() -> None:
    assert usefulness_level(usefulness(**USUAL)) == "medium"
    assert usefulness_level(usefulness(**{**USUAL, "similarity": 0.95, "lead": 0.8})) == "high"
    assert usefulness_level(usefulness(**{**USUAL, "similarity": 0.5})) == "low"


@pytest.mark.parametrize(
    ("probability", "level"),
    [(1.0, "high"), (0.83, "high"), (0.82, "medium"), (0.7, "medium"), (0.69, "low"), (0, "low")],
)
def test_a_level_begins_at_its_least_probability(probability: float, level: str) -> None:
    assert usefulness_level(probability) == level
