"""A caller → whether they may ask now, and response headers that say how often they still may."""

import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from fastapi import Depends, FastAPI, Request

from bookwise.api.auth.access import Reader
from bookwise.api.middleware.rate_headers import RateHeaders
from bookwise.domain.access import Caller
from bookwise.domain.errors import TooManyRequests

WINDOW_SECONDS = 60
CROWD = 10  #: readers of a page who use up their limits at once, before its key's own are used up
STREAM_RETRY_SECONDS = 5.0  # nobody knows when a stream ends; most answers take less than this


@dataclass(frozen=True, slots=True)
class RateState:
    """How often a caller may still ask, and when that grows again. A limit of 0 is none."""

    limit: int
    remaining: int
    reset_seconds: float

    def headers(self) -> dict[str, str]:
        if self.limit == 0:
            return {}
        return {
            "RateLimit-Policy": f'"default";q={self.limit};w={WINDOW_SECONDS}',
            "RateLimit": f'"default";r={self.remaining};t={math.ceil(self.reset_seconds)}',
        }


UNLIMITED = RateState(limit=0, remaining=0, reset_seconds=0)

_Who: TypeAlias = tuple[str, str]
"""The owner, and the address where it is one of many; empty: wherever they are."""


class Limiter:
    """Remembers when each caller was admitted within the last minute, and forgets them a minute later.

    So no minute, wherever it begins, holds more than a caller's rate, and the memory in use is bounded by the rates.
    A key that stands in a page is used by strangers: each address has the key's limits for itself, and all together
    ten times that, so that one of them cannot use up the key for the others. Nothing here awaits: on one event loop,
    however many requests come at once, none slips in between.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._admitted: OrderedDict[_Who, deque[float]] = OrderedDict()  # who was admitted last is at the end
        self._streams: Counter[_Who] = Counter()

    def admit(self, caller: Caller) -> RateState:
        """Counts a request; `TooManyRequests`, and not counted, when the rate is used up."""
        now = self._clock()
        self._forget(now)
        if caller.rate_per_minute == 0:
            return UNLIMITED
        shares = _shares(caller, caller.rate_per_minute)
        for who, limit in shares:
            self._require_room(who, limit, now)
        left = [self._count(who, limit, now) for who, limit in shares]
        remaining, reset_seconds = min(left)
        return RateState(limit=caller.rate_per_minute, remaining=remaining, reset_seconds=reset_seconds)

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Counts a stream as long as the block runs; `TooManyRequests` when as many as may be are open."""
        shares = _shares(caller, caller.streams_at_once)
        for who, limit in shares:
            if limit and self._streams[who] >= limit:
                raise TooManyRequests(
                    f"{_named(who)} may have {limit} streams open at once, and has.",
                    advice="Read one of them to its end, or close it, then ask again.",
                    retry_after=STREAM_RETRY_SECONDS,
                )
        counted = [who for who, _ in shares]
        self._streams.update(counted)
        try:
            yield
        finally:
            self._streams.subtract(counted)
            self._streams = +self._streams  # without those that have none open

    @property
    def open_streams(self) -> int:
        return sum(count for (_, address), count in self._streams.items() if not address)

    @property
    def remembered(self) -> int:
        """How many requests are kept in memory."""
        return sum(map(len, self._admitted.values()))

    def _require_room(self, who: _Who, limit: int, now: float) -> None:
        times = self._admitted.get(who, deque())
        while times and times[0] + WINDOW_SECONDS <= now:
            times.popleft()
        if len(times) >= limit:
            raise TooManyRequests(
                f"{_named(who)} may ask {limit} times a minute, and did.",
                advice="Wait as long as Retry-After says, or ask the operator for a higher rate.",
                retry_after=times[-limit] + WINDOW_SECONDS - now,
            )

    def _count(self, who: _Who, limit: int, now: float) -> tuple[int, float]:
        """How many requests are left, and in how many seconds there is one more."""
        times = self._admitted.setdefault(who, deque())
        times.append(now)
        self._admitted.move_to_end(who)
        return limit - len(times), times[0] + WINDOW_SECONDS - now

    def _forget(self, now: float) -> None:
        """Callers whose last request has left the window; they stand in the order of that request."""
        while self._admitted and next(iter(self._admitted.values()))[-1] + WINDOW_SECONDS <= now:
            self._admitted.popitem(last=False)


def _shares(caller: Caller, limit: int) -> list[tuple[_Who, int]]:
    """Whose limits a request counts towards."""
    if not caller.address:
        return [((caller.owner, ""), limit)]
    return [((caller.owner, caller.address), limit), ((caller.owner, ""), CROWD * limit)]


def _named(who: _Who) -> str:
    return "Each address that uses this key" if who[1] else "This key"


def add_limits(app: FastAPI, limiter: Limiter | None = None) -> None:
    """Gives the app its limiter, and every response to a limited request its headers."""
    app.state.limiter = limiter or Limiter()
    app.add_middleware(RateHeaders)


def limiter_of(request: Request) -> Limiter:
    limiter: Limiter = request.app.state.limiter
    return limiter


async def limited(request: Request, caller: Reader) -> None:
    """Admits the caller, once for each request, and leaves on `request.state.rate` what the response has to say."""
    if hasattr(request.state, "rate"):
        return
    try:
        request.state.rate = limiter_of(request).admit(caller)
    except TooManyRequests as error:
        request.state.rate = RateState(caller.rate_per_minute, 0, error.retry_after)
        raise


Limited = Depends(limited)
