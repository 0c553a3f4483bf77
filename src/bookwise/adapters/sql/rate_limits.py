"""Rate and stream limits in PostgreSQL, shared by all processes that use the database."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import anyio
from sqlalchemy import Row, text

from bookwise.adapters.sql.database import Database
from bookwise.domain.access import Caller
from bookwise.domain.errors import StoreUnavailable
from bookwise.domain.rate_limits import LEASE_SECONDS, UNLIMITED, RateState, Share, rate_shares, stream_shares

# Migration 0005 creates the functions. Each is one statement, so one round trip, and uses the clock of the server.
_ADMIT = text("SELECT * FROM bookwise_admit_request(:owner, :addresses, :limits)")
_OPEN = text("SELECT bookwise_open_stream(:lease_id, :owner, :address, :addresses, :limits, :seconds)")
_CLOSE = text("DELETE FROM stream_leases WHERE lease_id = :lease_id")
_MAINTAIN = text("SELECT bookwise_maintain_limits(:lease_ids, :owners, :addresses, :seconds)")


class SqlRateLimits:
    """Counts in tables that all processes share.

    Requests are counted in slots of half a second. A request counts for at least 60 and at most 60.5 seconds, so the
    rate is never exceeded and the cost of a request does not depend on the rate. An open stream holds a lease, which
    ends by itself when its process dies.
    """

    def __init__(self, database: Database, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._leases: dict[str, Share] = {}

    async def admit(self, caller: Caller) -> RateState:
        shares = rate_shares(caller)
        if not shares:
            return UNLIMITED
        row = await self._call(_ADMIT, **_limits(shares))
        if row.refused:
            raise shares[row.refused - 1].rate_error(row.seconds)
        return RateState(limit=caller.rate_per_minute, remaining=row.remaining, reset_seconds=row.seconds)

    @asynccontextmanager
    async def stream(self, caller: Caller) -> AsyncIterator[None]:
        shares = stream_shares(caller)
        if not shares:
            yield
            return
        lease_id = uuid4().hex
        row = await self._call(
            _OPEN, lease_id=lease_id, address=caller.address, seconds=self._lease_seconds, **_limits(shares)
        )
        if row[0]:
            raise shares[row[0] - 1].stream_error()
        self._leases[lease_id] = shares[0]
        try:
            yield
        finally:
            del self._leases[lease_id]
            await self._close(lease_id)

    async def maintain(self) -> None:
        leases = dict(self._leases)
        await self._call(
            _MAINTAIN,
            lease_ids=list(leases),
            owners=[share.owner for share in leases.values()],
            addresses=[share.address for share in leases.values()],
            seconds=self._lease_seconds,
        )

    async def _close(self, lease_id: str) -> None:
        """Frees the place of a stream. If the database cannot be reached, the lease ends by itself."""
        with anyio.CancelScope(shield=True):
            try:
                await self._database.read(lambda connection: connection.execute(_CLOSE, {"lease_id": lease_id}))
            except StoreUnavailable:
                return

    async def _call(self, statement: Any, **values: Any) -> Row[Any]:
        # Not `write`: one statement is a transaction by itself.
        return await self._database.read(lambda connection: connection.execute(statement, values).one())


def _limits(shares: Sequence[Share]) -> dict[str, Any]:
    return {
        "owner": shares[0].owner,
        "addresses": [share.address for share in shares],
        "limits": [share.limit for share in shares],
    }
