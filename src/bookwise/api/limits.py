"""A caller → whether they may ask now, and response headers that say how often they still may."""

import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Depends, FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookwise.api.access import Reader
from bookwise.domain.access import Caller
from bookwise.domain.errors import TooManyRequests

WINDOW_SECONDS = 60
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


class Limiter:
    """Remembers when each caller was admitted within the last minute, and forgets them a minute later.

    So no minute, wherever it begins, holds more than a caller's rate, and the memory in use is bounded by the sum of
    the rates. Nothing here awaits: on one event loop, however many requests come at once, none slips in between.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._admitted: OrderedDict[str, deque[float]] = OrderedDict()  # who was admitted last is at the end
        self._streams: Counter[str] = Counter()

    def admit(self, caller: Caller) -> RateState:
        """Counts a request; `TooManyRequests`, and not counted, when the rate is used up."""
        limit, now = caller.rate_per_minute, self._clock()
        self._forget(now)
        if limit == 0:
            return UNLIMITED
        times = self._recent(caller.owner, now)
        if len(times) >= limit:
            raise TooManyRequests(
                f"This key may ask {limit} times a minute, and did.",
                advice="Wait as long as Retry-After says, or ask the operator for a higher rate.",
                retry_after=times[-limit] + WINDOW_SECONDS - now,
            )
        times.append(now)
        self._admitted[caller.owner] = times
        self._admitted.move_to_end(caller.owner)
        return RateState(limit=limit, remaining=limit - len(times), reset_seconds=times[0] + WINDOW_SECONDS - now)

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Counts a stream as long as the block runs; `TooManyRequests` when as many as may be are open."""
        limit, owner = caller.streams_at_once, caller.owner
        if limit and self._streams[owner] >= limit:
            raise TooManyRequests(
                f"This key may have {limit} streams open at once, and has.",
                advice="Read one of them to its end, or close it, then ask again.",
                retry_after=STREAM_RETRY_SECONDS,
            )
        self._streams[owner] += 1
        try:
            yield
        finally:
            self._streams[owner] -= 1
            if not self._streams[owner]:
                del self._streams[owner]

    @property
    def open_streams(self) -> int:
        return self._streams.total()

    @property
    def remembered(self) -> int:
        """How many requests are kept in memory."""
        return sum(map(len, self._admitted.values()))

    def _recent(self, owner: str, now: float) -> deque[float]:
        times = self._admitted.get(owner, deque())
        while times and times[0] + WINDOW_SECONDS <= now:
            times.popleft()
        return times

    def _forget(self, now: float) -> None:
        """Callers whose last request has left the window; they stand in the order of that request."""
        while self._admitted and next(iter(self._admitted.values()))[-1] + WINDOW_SECONDS <= now:
            self._admitted.popitem(last=False)


def add_limits(app: FastAPI, limiter: Limiter | None = None) -> None:
    """Gives the app its limiter, and every response to a limited request its headers."""
    app.state.limiter = limiter or Limiter()
    app.add_middleware(RateHeaders)


def limiter_of(request: Request) -> Limiter:
    limiter: Limiter = request.app.state.limiter
    return limiter


async def limited(request: Request, caller: Reader) -> None:
    """Admits the caller, and leaves on `request.state.rate` what the response has to say about it."""
    try:
        request.state.rate = limiter_of(request).admit(caller)
    except TooManyRequests as error:
        request.state.rate = RateState(caller.rate_per_minute, 0, error.retry_after)
        raise


Limited = Depends(limited)


class RateHeaders:
    """Says on every response to a limited request what is left of the rate, also on streams and on errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})  # the dictionary behind `request.state`

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and "rate" in state:
                MutableHeaders(scope=message).update(state["rate"].headers())
            await send(message)

        await self._app(scope, receive, send_with_headers)
