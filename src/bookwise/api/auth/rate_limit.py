"""Rate and stream limits by caller, and the response headers that report them."""

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
SHARED_KEY_FACTOR = 10  #: a key that is published in a page has this many times the limit of one address
STREAM_RETRY_SECONDS = 5.0  # most answers take less


@dataclass(frozen=True, slots=True)
class RateState:
    """The number of requests a caller has left, and when there is one more. A limit of 0 means no limit."""

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

_Client: TypeAlias = tuple[str, str]
"""The owner of a key and an address; an empty address stands for all of them."""


class Limiter:
    """Counts the requests of the last minute and the open streams of each caller.

    The window slides, so no period of a minute contains more requests than the rate, and the rates bound the memory in
    use. A key published in a page is used from many addresses: each address has the key's limits, and all addresses
    together ten times as much, so that one address cannot use up the key for the others. Nothing here awaits, so
    concurrent requests on one event loop cannot pass the limit.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._admitted: OrderedDict[_Client, deque[float]] = OrderedDict()  # in the order of their last request
        self._streams: Counter[_Client] = Counter()

    def admit(self, caller: Caller) -> RateState:
        """Counts a request. Raises `TooManyRequests`, without counting it, when the limit is reached."""
        now = self._clock()
        self._forget(now)
        if caller.rate_per_minute == 0:
            return UNLIMITED
        shares = _shares(caller, caller.rate_per_minute)
        for client, limit in shares:
            self._require_room(client, limit, now)
        remaining, reset_seconds = min([self._count(client, limit, now) for client, limit in shares])
        return RateState(limit=caller.rate_per_minute, remaining=remaining, reset_seconds=reset_seconds)

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Counts a stream while the block runs. Raises `TooManyRequests` when the limit is reached."""
        shares = _shares(caller, caller.streams_at_once)
        for client, limit in shares:
            if limit and self._streams[client] >= limit:
                raise TooManyRequests(
                    f"Stream limit reached: {limit} open streams{_scope(client)}.",
                    advice="Wait until a stream has ended, or close one, then ask again.",
                    retry_after=STREAM_RETRY_SECONDS,
                )
        clients = [client for client, _ in shares]
        self._streams.update(clients)
        try:
            yield
        finally:
            self._streams.subtract(clients)
            self._streams = +self._streams  # drops entries without open streams

    @property
    def open_streams(self) -> int:
        return sum(count for (_, address), count in self._streams.items() if not address)

    @property
    def remembered(self) -> int:
        """The number of requests in memory."""
        return sum(map(len, self._admitted.values()))

    def _require_room(self, client: _Client, limit: int, now: float) -> None:
        times = self._admitted.get(client, deque())
        while times and times[0] + WINDOW_SECONDS <= now:
            times.popleft()
        if len(times) >= limit:
            raise TooManyRequests(
                f"Rate limit reached: {limit} requests per minute{_scope(client)}.",
                advice="Wait for the time in Retry-After, or ask the operator for a higher rate.",
                retry_after=times[-limit] + WINDOW_SECONDS - now,
            )

    def _count(self, client: _Client, limit: int, now: float) -> tuple[int, float]:
        """Counts a request; returns the requests left and the seconds until there is one more."""
        times = self._admitted.setdefault(client, deque())
        times.append(now)
        self._admitted.move_to_end(client)
        return limit - len(times), times[0] + WINDOW_SECONDS - now

    def _forget(self, now: float) -> None:
        """Drops callers whose last request has left the window."""
        while self._admitted and next(iter(self._admitted.values()))[-1] + WINDOW_SECONDS <= now:
            self._admitted.popitem(last=False)


def _shares(caller: Caller, limit: int) -> list[tuple[_Client, int]]:
    """The limits that a request counts towards."""
    if not caller.address:
        return [((caller.owner, ""), limit)]
    return [((caller.owner, caller.address), limit), ((caller.owner, ""), SHARED_KEY_FACTOR * limit)]


def _scope(client: _Client) -> str:
    return " for your address" if client[1] else ""


def add_limits(app: FastAPI, limiter: Limiter | None = None) -> None:
    """Adds the limiter to the app, and rate headers to every response to a limited request."""
    app.state.limiter = limiter or Limiter()
    app.add_middleware(RateHeaders)


def limiter_of(request: Request) -> Limiter:
    limiter: Limiter = request.app.state.limiter
    return limiter


async def limited(request: Request, caller: Reader) -> None:
    """Counts the request once, and stores its rate state in `request.state.rate` for the response headers."""
    if hasattr(request.state, "rate"):
        return
    try:
        request.state.rate = limiter_of(request).admit(caller)
    except TooManyRequests as error:
        request.state.rate = RateState(caller.rate_per_minute, 0, error.retry_after)
        raise


Limited = Depends(limited)
