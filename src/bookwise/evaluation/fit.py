"""Match strengths of questions a book answers and of others → the map from strength to similarity. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, quantiles
from typing import TypeAlias

from bookwise.answering.evidence.confidence import RULES, confidence_of
from bookwise.domain.books import Calibration
from bookwise.evaluation.metrics import area_under_roc

Strengths: TypeAlias = tuple[float, ...]  #: of the passages of one question

LEAST_QUESTIONS = 8
LEAST_AREA = 0.75  #: of telling the two groups apart; 0.5 is chance
LEANS = (0.9, 0.5, 0.1)  #: where in a gap to decide; high first: strangers are easy to refuse, near misses are not
STEP = 0.01  #: least distance between two knots
HIGH, MEDIUM, LOW = (average for _, average, _ in RULES)
BELOW = (0.0, 0.05, 0.25)  #: similarities of nothing, a third and two thirds of the strength that is just answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The fitted map, or why there is none."""

    calibration: Calibration | None
    area: float | None  #: under the ROC curve of the strengths
    reason: str = ""


def fit_calibration(positives: Sequence[Strengths], negatives: Sequence[Strengths]) -> Fit:
    """The map that answers most of the first and refuses most of the second, both sides counting the same."""
    known, foreign = sorted(map(mean, positives)), sorted(map(mean, negatives))
    area = area_under_roc(known, foreign)
    for name, group in (("that the book answers", known), ("that it does not answer", foreign)):
        if len(group) < LEAST_QUESTIONS:
            few = f"There are only {len(group)} questions {name}; at least {LEAST_QUESTIONS} are needed."
            return Fit(calibration=None, area=area, reason=few)
    if area is None or area < LEAST_AREA:
        alike = f"The two groups of questions cannot be told apart (area under ROC {area:.2f}, needed {LEAST_AREA})."
        return Fit(calibration=None, area=area, reason=alike)
    by_width = sorted(pairwise(sorted({*known, *foreign})), key=lambda gap: gap[0] - gap[1])
    maps = [_map(low + lean * (high - low), known) for low, high in by_width for lean in LEANS]
    return Fit(calibration=min(maps, key=lambda made: _lost(made, positives, negatives)), area=area)


def mean(strengths: Strengths) -> float:
    """How strongly a question matches the book: the mean over its passages."""
    return fmean(strengths) if strengths else 0.0


def answers(calibration: Calibration, strengths: Strengths) -> bool:
    """Whether passages of these strengths lead to an answer."""
    return confidence_of([calibration.similarity(strength) for strength in strengths], ()).should_answer


def _lost(calibration: Calibration, positives: Sequence[Strengths], negatives: Sequence[Strengths]) -> float:
    refused = fmean(not answers(calibration, found) for found in positives)
    return refused + fmean(answers(calibration, found) for found in negatives)


def _map(decision: float, known: Sequence[float]) -> Calibration:
    """The map that just answers at this strength; a quarter of what is answered is then `low`, and half `high`."""
    above = [strength for strength in known if strength > decision]
    lower, middle, _ = quantiles(above, n=4, method="inclusive") if len(above) > 1 else (decision,) * 3
    highest = max(above, default=decision)
    strengths = (0.0, decision / 3, decision * 2 / 3, decision, lower, middle, highest)
    return Calibration(knots=tuple(zip(_apart(strengths), (*BELOW, LOW, MEDIUM, HIGH, 1.0), strict=True)))


def _apart(strengths: Iterable[float]) -> list[float]:
    """The same strengths, each at least a step after the one before."""
    apart: list[float] = []
    for strength in strengths:
        apart.append(round(max(strength, apart[-1] + STEP) if apart else strength, 4))
    return apart
