"""Match strengths of answerable and other questions → the map from strength to similarity. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, quantiles
from typing import TypeAlias

from bookwise.answering.evidence.confidence import RULES, confidence_of
from bookwise.domain.books import Calibration
from bookwise.evaluation.metrics import area_under_roc
from bookwise.text.plurals import plural

Strengths: TypeAlias = tuple[float, ...]  #: of the passages of one question

QUESTIONS_MIN = 8
AREA_MIN = 0.75  #: under the ROC curve; 0.5 is chance
GAP_SHARES = (
    0.9,
    0.5,
    0.1,
)  #: where in a gap to decide; high first: unrelated questions are easy to refuse, near misses are not
STEP = 0.01  #: minimum distance between two knots
HIGH, MEDIUM, LOW = (average for _, average, _ in RULES)
BELOW = (0.0, 0.05, 0.25)  #: similarities of nothing, a third and two thirds of the strength that is just answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The fitted map, or why there is none."""

    calibration: Calibration | None
    area: float | None  #: under the ROC curve of the strengths
    reason: str = ""


def fit_calibration(positives: Sequence[Strengths], negatives: Sequence[Strengths]) -> Fit:
    """The map that answers most positives and refuses most negatives; both groups have the same weight."""
    known, foreign = sorted(map(mean, positives)), sorted(map(mean, negatives))
    area = area_under_roc(known, foreign)
    for name, group in (("that the book answers", known), ("that the book does not answer", foreign)):
        if len(group) < QUESTIONS_MIN:
            reason = f"The list has only {plural(len(group), 'question')} {name}; at least {QUESTIONS_MIN} are needed."
            return Fit(calibration=None, area=area, reason=reason)
    if area is None or area < AREA_MIN:
        reason = f"The two groups of questions are too similar (area under ROC {area:.2f}, required {AREA_MIN})."
        return Fit(calibration=None, area=area, reason=reason)
    by_width = sorted(pairwise(sorted({*known, *foreign})), key=lambda gap: gap[0] - gap[1])
    maps = [_map(low + share * (high - low), known) for low, high in by_width for share in GAP_SHARES]
    return Fit(calibration=min(maps, key=lambda candidate: _loss(candidate, positives, negatives)), area=area)


def mean(strengths: Strengths) -> float:
    """How strongly a question matches the book: the mean over its passages."""
    return fmean(strengths) if strengths else 0.0


def answers(calibration: Calibration, strengths: Strengths) -> bool:
    """Whether passages of these strengths lead to an answer."""
    return confidence_of([calibration.similarity(strength) for strength in strengths], ()).should_answer


def _loss(calibration: Calibration, positives: Sequence[Strengths], negatives: Sequence[Strengths]) -> float:
    refused = fmean(not answers(calibration, strengths) for strengths in positives)
    return refused + fmean(answers(calibration, strengths) for strengths in negatives)


def _map(decision: float, known: Sequence[float]) -> Calibration:
    """The map that starts to answer at this strength. A quarter of the answers is `low`, half of them `high`."""
    above = [strength for strength in known if strength > decision]
    lower, middle, _ = quantiles(above, n=4, method="inclusive") if len(above) > 1 else (decision,) * 3
    highest = max(above, default=decision)
    strengths = (0.0, decision / 3, decision * 2 / 3, decision, lower, middle, highest)
    return Calibration(knots=tuple(zip(_space_out(strengths), (*BELOW, LOW, MEDIUM, HIGH, 1.0), strict=True)))


def _space_out(strengths: Iterable[float]) -> list[float]:
    """The strengths, each at least one step above the previous one."""
    spaced: list[float] = []
    for strength in strengths:
        spaced.append(round(max(strength, spaced[-1] + STEP) if spaced else strength, 4))
    return spaced
