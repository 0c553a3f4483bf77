"""Turns a response under the key its sender chose into one that can be sent again, for a day."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import kept_responses as kept
from bookwise.domain.errors import RequestMismatch, RequestRunning
from bookwise.ports import KeptResponse

KEPT = timedelta(hours=24)


def _now() -> datetime:
    return datetime.now(UTC)


class SqlResponses:
    """One row for each key of an owner: claimed while its request runs, then with the response."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, owner: str, key: str, fingerprint: str, *, lease_seconds: float) -> KeptResponse | None:
        now = self._clock()
        row = {
            "owner": owner,
            "idempotency_key": key,
            "fingerprint": fingerprint,
            "claimed_at": now,
            "claimed_until": now + timedelta(seconds=lease_seconds),
            "status": None,
            "headers": None,
            "body": None,
        }
        adding = self._database.insert_into(kept).values(row)
        claiming = adding.on_conflict_do_update(
            index_elements=[kept.c.owner, kept.c.idempotency_key], set_=row, where=_is_free(now)
        ).returning(kept.c.owner)

        def claim(connection: Connection) -> KeptResponse | None:
            if connection.execute(claiming).first() is not None:
                return None
            return _kept(connection, owner, key, fingerprint)

        return await self._database.write(claim)

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        values = {"status": response.status, "headers": dict(response.headers), "body": response.body}
        statement = update(kept).values(values).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def release(self, owner: str, key: str) -> None:
        statement = delete(kept).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def forget(self, *, before: datetime) -> int:
        old = kept.c.claimed_at < before
        query = select(func.count()).where(old)
        if not await self._database.read(lambda connection: connection.execute(query).scalar()):
            return 0  # the usual case, and it costs no write
        return await self._database.write(lambda connection: connection.execute(delete(kept).where(old)).rowcount)


def _is_free(now: datetime) -> ColumnElement[bool]:
    """A row that stands in nobody's way: too old, or its claimant is gone."""
    is_left = and_(kept.c.status.is_(None), kept.c.claimed_until <= now)
    return or_(kept.c.claimed_at <= now - KEPT, is_left)


def _is_running(owner: str, key: str) -> ColumnElement[bool]:
    return and_(kept.c.owner == owner, kept.c.idempotency_key == key, kept.c.status.is_(None))


def _kept(connection: Connection, owner: str, key: str, fingerprint: str) -> KeptResponse:
    """What stands in the way of a claim; that statement has locked the row."""
    row = connection.execute(select(kept).where(kept.c.owner == owner, kept.c.idempotency_key == key)).one()
    if row.fingerprint != fingerprint:
        raise RequestMismatch(
            "This idempotency key was used for another request.",
            advice="Send a new key with a new request; repeat a request with exactly the same body.",
        )
    if row.status is None:
        raise RequestRunning(
            "The request with this idempotency key is still running.", advice="Send it again in a moment."
        )
    return KeptResponse(status=row.status, headers=row.headers, body=row.body)
