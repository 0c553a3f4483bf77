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

PLOT_LEFT, PLOT_TOP, PLOT_SIDE = 60, 20, 420  #: of the picture, in pixels
SVG_START = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 500" width="520" height="500" role="img">
<title>Share of useful answers over the estimated probability, for books that were left out of the fit</title>
<style>
svg { color: #1f2328; font: 12px sans-serif; }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; } }
text { fill: currentColor; text-anchor: middle; }
.start { text-anchor: start; }
.end { text-anchor: end; }
path, polyline { fill: none; stroke: currentColor; }
.ideal { stroke-dasharray: 6 5; opacity: 0.6; }
.level { stroke-dasharray: 1 4; opacity: 0.6; }
.curve { stroke: #3b82f6; stroke-width: 2; }
circle { fill: #3b82f6; }
</style>"""


@dataclass(frozen=True)
class Sample:
    """An answer: its book, the signals of its usefulness, and whether it was useful."""

    book: str
    signals: Signals
    useful: bool


@dataclass(frozen=True)
class ReliabilityRow:
    """The answers whose estimate is in one range."""

    low: float
    top: float
    estimated: float  #: mean of the estimates
    useful: float  #: share of the answers that were useful
    count: int


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
    for row in reliability(results):
        print(f"  estimated {row.low:.1f}–{row.top:.1f}: {row.estimated:.2f}, useful {row.useful:.2f} of {row.count}")


def reliability(results: Sequence[tuple[float, bool]]) -> list[ReliabilityRow]:
    """The rows of the reliability table that have answers, the least sure first."""
    rows = []
    for low, top in pairwise(EDGES):
        inside = [(p, useful) for p, useful in results if low <= p < top or p == top == 1.0]
        if inside:
            estimated = sum(p for p, _ in inside) / len(inside)
            rows.append(ReliabilityRow(low, top, estimated, sum(u for _, u in inside) / len(inside), len(inside)))
    return rows


def reliability_svg(samples: Sequence[Sample]) -> str:
    """The reliability table as a picture: the share of useful answers over the estimate, for left-out books. A circle
    on the dashed line is an estimate that holds; its area is the number of answers."""
    rows = reliability(held_out(samples))
    ticks = [tick / 10 for tick in range(0, 11, 2)]
    levels = [(level, edge) for level, edge in USEFULNESS_LEVELS if edge]
    points = " ".join(f"{_x(row.estimated):.0f},{_y(row.useful):.0f}" for row in rows)
    parts = [
        SVG_START,
        f'<path class="axis" d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}"/>',
        f'<path class="ideal" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>',
        *(f'<text x="{_x(tick):.0f}" y="{_y(0) + 18}">{tick:.1f}</text>' for tick in ticks),
        *(f'<text class="end" x="{_x(0) - 8}" y="{_y(tick) + 4:.0f}">{tick:.1f}</text>' for tick in ticks),
        *(f'<path class="level" d="M{_x(edge):.0f} {_y(1)}V{_y(0)}"/>' for _, edge in levels),
        *(f'<text class="start" x="{_x(edge) + 4:.0f}" y="{_y(0) - 8}">{level}</text>' for level, edge in levels),
        f'<polyline class="curve" points="{points}"/>',
        *(_circle(row, above=bool(index % 2)) for index, row in enumerate(rows)),
        f'<text x="{_x(0.5):.0f}" y="{_y(0) + 42}">estimated probability that the answer is useful</text>',
        f'<text transform="translate(16 {_y(0.5):.0f}) rotate(-90)">share of useful answers</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _circle(row: ReliabilityRow, *, above: bool) -> str:
    x, y, radius = _x(row.estimated), _y(row.useful), 1.4 * row.count**0.5
    label = y - radius - 5 if above else y + radius + 15
    text = f'<text x="{x:.0f}" y="{label:.0f}">{row.useful:.2f} of {row.count}</text>'
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.1f}"/>{text}'


def _x(probability: float) -> float:
    return PLOT_LEFT + PLOT_SIDE * probability


def _y(share: float) -> float:
    return PLOT_TOP + PLOT_SIDE * (1 - share)
