"""The ports of the HTTP service: what its processes need to act as one. See `ports` for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from bookwise.domain.access import Caller
    from bookwise.domain.rate_limits import RateState


class KeyChanges(Protocol):
    """Notices changes of API keys that any process has made."""

    def watch(self) -> AsyncGenerator[None]:
        """Yields at the start if there are keys, and within about a second of each change or, while the database was
        unavailable, of its return."""


class RateLimits(Protocol):
    """Limits the requests and the open streams of callers, in all processes that share a database together.

    The window slides: no period of 60 seconds contains more requests than the rate. A request counts for at most 1 %
    longer than that. A caller without a limit is always admitted.
    """

    async def admit(self, caller: Caller) -> RateState:
        """Counts a request. Raises `TooManyRequests`, without counting it, when the limit is reached."""

    def stream(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """Counts a stream while the block runs. Raises `TooManyRequests` when the limit is reached."""

    async def maintain(self) -> None:
        """Keeps the open streams counted, and deletes what no longer counts. A process must call this every
        `MAINTENANCE_SECONDS`; the streams of one that does not are freed after `LEASE_SECONDS`."""


class DeliveryStore(Protocol):
    """Stores which webhook deliveries were handled, for three days."""

    async def claim(self, delivery_id: str) -> bool:
        """True for the first caller: it must handle the delivery, then keep or release it. Another may claim it after a
        minute without either."""

    async def keep(self, delivery_id: str) -> None:
        """Records that a claimed delivery was handled."""

    async def release(self, delivery_id: str) -> None:
        """Gives up a delivery that could not be handled; it may come again."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes older records; returns their number."""
