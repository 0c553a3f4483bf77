"""Outcomes of requests into whether the next one is worth sending."""

from collections.abc import Callable
from typing import Literal, TypeAlias

FAILURES = 5
COOL_DOWN = 30.0

Outcome: TypeAlias = Literal["succeeded", "failed", "unknown"]


class Breaker:
    """Opens after so many failed requests in a row; after a cool-down it lets one probe at a time through, and
    closes with the first that succeeds.

    A request is admitted to an era and settled with it. Each opening and each closing begins a new one, so what
    was sent before says nothing about what came after.
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = FAILURES, cool_down: float = COOL_DOWN) -> None:
        self._clock = clock
        self._most = failures
        self._cool_down = cool_down
        self._era = 0
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def admit(self) -> int | None:
        """The era to settle the request with; None when it must not be sent."""
        if self._opened_at is None:
            return self._era
        if self._probing or self._clock() - self._opened_at < self._cool_down:
            return None
        self._probing = True
        return self._era

    def settle(self, era: int, outcome: Outcome) -> None:
        """What became of an admitted request; `unknown` says nothing about the service."""
        if era != self._era:
            return
        was_open, self._probing = self.is_open, False
        if outcome == "succeeded":
            self._failures, self._opened_at = 0, None
            self._era += was_open
        elif outcome == "failed":
            self._failures += 1
            if was_open or self._failures >= self._most:
                self._opened_at = self._clock()
                self._era += 1
