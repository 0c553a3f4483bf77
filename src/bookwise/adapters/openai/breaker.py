"""Outcomes of requests → whether to send the next one (a circuit breaker)."""

from collections.abc import Callable
from typing import Literal, TypeAlias

FAILURES = 5
COOL_DOWN = 30.0

Outcome: TypeAlias = Literal["succeeded", "failed", "unknown"]


class Breaker:
    """Opens after several failed requests in a row. After a cool-down it admits one probe at a time, and closes with
    the first that succeeds.

    A request is admitted in an era and settled with it. Each opening and closing starts a new era, so that late
    outcomes of older requests are ignored.
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = FAILURES, cool_down: float = COOL_DOWN) -> None:
        self._clock = clock
        self._failures_max = failures
        self._cool_down = cool_down
        self._era = 0
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def admit(self) -> int | None:
        """The era to settle the request with; None when the request must not be sent."""
        if self._opened_at is None:
            return self._era
        if self._probing or self._clock() - self._opened_at < self._cool_down:
            return None
        self._probing = True
        return self._era

    def settle(self, era: int, outcome: Outcome) -> None:
        """Records the outcome of an admitted request; `unknown` says nothing about the service."""
        if era != self._era:
            return
        was_open, self._probing = self.is_open, False
        if outcome == "succeeded":
            self._failures, self._opened_at = 0, None
            self._era += was_open
        elif outcome == "failed":
            self._failures += 1
            if was_open or self._failures >= self._failures_max:
                self._opened_at = self._clock()
                self._era += 1
