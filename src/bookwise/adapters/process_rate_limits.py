"""Rate and stream limits in the memory of one process."""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from bookwise.domain.access import Caller
from bookwise.domain.rate_limits import UNLIMITED, WINDOW_SECONDS, RateState, Share, rate_shares, stream_shares

_Client: TypeAlias = tuple[str, str]
"""The owner of a key and an address; an empty address stands for all of them."""


class ProcessRateLimits:
    """Counts the requests of the last minute and the open streams of each caller.

    The rates bound the memory in use. Nothing here awaits between a check and its count, so concurrent requests on one
    event loop cannot pass the limit.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._admitted: OrderedDict[_Client, deque[float]] = OrderedDict()  # in the order of their last request
        self._streams: Counter[_Client] = Counter()

    async def admit(self, caller: Caller) -> RateState:
        shares = rate_shares(caller)
        if not shares:
            return UNLIMITED
        now = self._clock()
        self._forget(now)
        for share in shares:
            self._require_room(share, now)
        remaining, reset_seconds = min([self._count(share, now) for share in shares])
        return RateState(limit=caller.rate_per_minute, remaining=remaining, reset_seconds=reset_seconds)

    @asynccontextmanager
    async def stream(self, caller: Caller) -> AsyncIterator[None]:
        shares = stream_shares(caller)
        for share in shares:
            if self._streams[_client(share)] >= share.limit:
                raise share.stream_error()
        clients = list(map(_client, shares))
        self._streams.update(clients)
        try:
            yield
        finally:
            self._streams.subtract(clients)
            self._streams = +self._streams  # drops entries without open streams

    async def maintain(self) -> None:
        self._forget(self._clock())

    @property
    def remembered(self) -> int:
        """The number of requests and streams in memory."""
        return sum(map(len, self._admitted.values())) + self._streams.total()

    def _require_room(self, share: Share, now: float) -> None:
        times = self._admitted.get(_client(share), deque())
        while times and _seconds_left(times[0], now) <= 0:
            times.popleft()
        if len(times) >= share.limit:
            raise share.rate_error(_seconds_left(times[-share.limit], now))

    def _count(self, share: Share, now: float) -> tuple[int, float]:
        """Counts a request; returns the requests left and the seconds until there is one more."""
        times = self._admitted.setdefault(_client(share), deque())
        times.append(now)
        self._admitted.move_to_end(_client(share))
        return share.limit - len(times), _seconds_left(times[0], now)

    def _forget(self, now: float) -> None:
        """Drops callers whose last request has left the window."""
        while self._admitted and _seconds_left(next(iter(self._admitted.values()))[-1], now) <= 0:
            self._admitted.popitem(last=False)


def _seconds_left(admitted: float, now: float) -> float:
    """How long a request still counts. The sum of a clock and the window, rounded, could be longer than the window."""
    return WINDOW_SECONDS - (now - admitted)


def _client(share: Share) -> _Client:
    return share.owner, share.address
