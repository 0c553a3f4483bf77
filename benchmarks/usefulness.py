"""Whether the estimated usefulness of answers holds on books that were left out of its fit.

The signals of every answer are recorded while it is made. Then the model is fitted without one book, used on that book,
and so on for every book.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Any
from unittest.mock import patch

import numpy as np

from bookwise.answering.evidence import retrieve
from bookwise.answering.evidence.usefulness import LEAD_MAX, usefulness
from bookwise.domain.answers import USEFULNESS_LEVELS

Signals = tuple[float, ...]

RIDGE = 1.0  #: keeps weights small where few answers speak for them
STEPS = 30  #: of Newton's method; it converges in about ten
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  #: of the reliability table


@dataclass(frozen=True)
class Sample:
    """An answer: its book, the signals of its usefulness, and whether it was useful."""

    book: str
    signals: Signals
    useful: bool


@contextmanager
def recorded_signals() -> Iterator[list[Signals]]:
    """Collects the signals of all answers made meanwhile."""
    recorded: list[Signals] = []

    def record(*, similarity: float, lead: float, agreement: bool, names_missing: bool) -> float:
        recorded.append((similarity, min(lead, LEAD_MAX), float(agreement), float(names_missing)))
        return usefulness(similarity=similarity, lead=lead, agreement=agreement, names_missing=names_missing)

    with patch.object(retrieve, "usefulness", record):
        yield recorded


def fit(samples: Sequence[Sample]) -> Callable[[Signals], float]:
    """Returns the logistic model of these samples."""
    signals = np.array([sample.signals for sample in samples])
    middle, spread = signals.mean(axis=0), signals.std(axis=0) + 1e-9
    inputs = np.hstack([(signals - middle) / spread, np.ones((len(samples), 1))])
    weights = _newton(inputs, np.array([float(sample.useful) for sample in samples]))

    def probability(one: Signals) -> float:
        scaled: Any = (np.array(one) - middle) / spread
        return 1 / (1 + exp(-float(scaled @ weights[:-1] + weights[-1])))

    return probability


def _newton(inputs: Any, useful: Any) -> Any:
    penalty = np.diag([RIDGE] * (inputs.shape[1] - 1) + [0.0])  # not on the constant
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (useful - probability) - penalty @ weights
        curve = (inputs.T * (probability * (1 - probability))) @ inputs + penalty
        weights += np.linalg.solve(curve, slope)
    return weights


def held_out(samples: Sequence[Sample]) -> list[tuple[float, bool]]:
    """The probability of each sample by a model that has not seen its book, and whether it was useful."""
    results = []
    for book in dict.fromkeys(sample.book for sample in samples):
        model = fit([sample for sample in samples if sample.book != book])
        results += [(model(sample.signals), sample.useful) for sample in samples if sample.book == book]
    return results


def report(samples: Sequence[Sample]) -> None:
    """Prints how useful the surest answers are, and a reliability table, both for books that were left out."""
    if len({sample.book for sample in samples}) < 2:
        return
    results = sorted(held_out(samples), reverse=True)
    for share in (0.25, 0.4):
        surest = [useful for _, useful in results[: round(share * len(results))]]
        print(f"left-out books, the surest {share:.0%} of the answers: useful {sum(surest) / len(surest):.2f}")
    least = {level: edge for level, edge in USEFULNESS_LEVELS}["high"]
    high = [useful for probability, useful in results if probability >= least]
    print(f"left-out books, high: useful {sum(high) / max(1, len(high)):.2f} of {len(high)} of {len(results)} answers")
    for low, top in pairwise(EDGES):
        inside = [(p, useful) for p, useful in results if low <= p < top or p == top == 1.0]
        if inside:
            estimated = sum(p for p, _ in inside) / len(inside)
            share = sum(useful for _, useful in inside) / len(inside)
            print(f"  estimated {low:.1f}–{top:.1f}: {estimated:.2f}, useful {share:.2f} of {len(inside)}")
