"""What a figure of trust is, and how it is judged.

A figure counts what went wrong in a number of cases. Its control breaks the mechanism on purpose: a figure that stays
green then proves nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["passed", "failed", "not measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result of one measurement."""

    cases: int
    bad: int
    ratios: tuple["Ratio", ...] = ()
    examples: tuple[str, ...] = ()  #: what went wrong, the first few


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A measured value with its bound."""

    name: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_kept(self) -> bool:
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )

    def __str__(self) -> str:
        bound = f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"
        return f"{self.name} {self.value:.2f} ({bound})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the twelve figures.

    `measure` runs about `cases` cases and may run more. With `broken` the mechanism is switched off, and the result has
    to be bad.
    """

    number: int
    name: str
    counts: str  #: what a case is, and what a bad one is
    cases: int  #: the smallest sample; with fewer cases nothing is claimed
    control: str  #: what is broken on purpose
    control_cases: int  #: enough for the control to turn red
    measure: Callable[[int, bool], Awaitable[Measured]]  #: cases, broken

    def verdict(self, measured: Measured | None) -> Verdict:
        if measured is None or measured.cases < self.cases:
            return "not measured"
        return "passed" if is_good(measured) else "failed"


def is_good(measured: Measured) -> bool:
    return not measured.bad and all(ratio.is_kept for ratio in measured.ratios)


def has_turned_red(measured: Measured | None) -> bool:
    """Whether a control has shown that the figure can fail."""
    return measured is not None and not is_good(measured)
