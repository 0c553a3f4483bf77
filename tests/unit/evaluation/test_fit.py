"""The map from strength to similarity, fitted on two groups."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.domain.books import Calibration
from bookwise.evaluation.fit import Strengths, answers, fit_calibration
from bookwise.ingestion.discovery.profile import CalibrationFacts


def alike(*strengths: float) -> list[Strengths]:
    """Questions whose five passages all match equally."""
    return [(strength,) * 5 for strength in strengths]


KNOWN = alike(0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.1)
FOREIGN = alike(0.0, 0.02, 0.05, 0.1, 0.1, 0.15, 0.2, 0.25)


def made(positives: list[Strengths], negatives: list[Strengths]) -> Calibration:
    calibration = fit_calibration(positives, negatives).calibration
    assert calibration is not None
    return calibration


def test_two_groups_apart_are_told_apart() -> None:
    calibration = made(KNOWN, FOREIGN)
    assert all(answers(calibration, found) for found in KNOWN)
    assert not any(answers(calibration, found) for found in FOREIGN)


def test_the_decision_stays_close_to_what_the_book_answers() -> None:
    assert made(KNOWN, FOREIGN).similarity(0.45) < 0.6 < made(KNOWN, FOREIGN).similarity(0.55)


def test_where_the_groups_overlap_both_sides_count_the_same() -> None:
    positives = alike(0.3, *(0.7 + i / 100 for i in range(19)))
    negatives = alike(*(i / 100 for i in range(9)), 0.4)
    calibration = made(positives, negatives)
    assert not answers(calibration, positives[0])  # one of twenty is lost rather than one of ten
    assert not answers(calibration, negatives[-1])
    assert answers(calibration, positives[1])


def test_half_of_what_is_answered_is_answered_with_high_confidence() -> None:
    calibration = made(KNOWN, FOREIGN)
    assert sum(calibration.similarity(found[0]) >= 0.85 for found in KNOWN) == 4
    assert sum(calibration.similarity(found[0]) >= 0.75 for found in KNOWN) == 6


def test_passages_that_differ_are_judged_by_their_average() -> None:
    spread: list[Strengths] = [(high, high - 0.2, high - 0.3) for (high, *_) in KNOWN]
    assert all(answers(made(spread, FOREIGN), found) for found in spread)


@pytest.mark.parametrize(
    ("positives", "negatives", "said"),
    [
        (KNOWN[:7], FOREIGN, "only 7 questions that the book answers"),
        (KNOWN, FOREIGN[:7], "only 7 questions that the book does not answer"),
        ([], [], "only 0"),
        (KNOWN, KNOWN, "are too similar"),
        (FOREIGN, KNOWN, "are too similar"),
        (alike(*[0.5] * 8), alike(*[0.5] * 8), "are too similar"),
    ],
)
def test_without_enough_to_go_by_there_is_no_map(
    positives: list[Strengths], negatives: list[Strengths], said: str
) -> None:
    fit = fit_calibration(positives, negatives)
    assert fit.calibration is None
    assert said in fit.reason


strengths = st.lists(st.floats(0.0, 2.0), min_size=8, max_size=20)


@given(strengths, strengths)
def test_every_map_may_stand_in_a_profile(positives: list[float], negatives: list[float]) -> None:
    calibration = fit_calibration(alike(*(0.5 + p for p in positives)), alike(*negatives)).calibration
    if calibration is not None:
        assert all(x0 < x1 and y0 < y1 for (x0, y0), (x1, y1) in pairwise(calibration.knots))
        assert (calibration.knots[0][1], calibration.knots[-1][1]) == (0.0, 1.0)
        assert CalibrationFacts.model_validate({"knots": calibration.knots}).knots == calibration.knots
