"""Responses by idempotency key in SQL, stored for a day."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Text,
    and_,
    cast,
    delete,
    func,
    literal,
    or_,
    select,
    update,
)

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import kept_responses as responses
from bookwise.domain.errors import RequestMismatch, RequestRunning
from bookwise.ports import KeptResponse

KEPT = timedelta(hours=24)


def _now() -> datetime:
    return datetime.now(UTC)


class SqlResponses:
    """One row per owner and key: a claim while the request runs, then the response."""

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
        insertion = self._database.insert_into(responses).values(row)
        upsert = insertion.on_conflict_do_update(
            index_elements=[responses.c.owner, responses.c.idempotency_key], set_=row, where=_is_free(now)
        ).returning(responses.c.owner)

        def claim(connection: Connection) -> KeptResponse | None:
            if connection.execute(upsert).first() is not None:
                return None
            return _read_response(connection, owner, key, fingerprint)

        return await self._database.write(claim)

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        values = {"status": response.status, "headers": dict(response.headers), "body": response.body}
        statement = update(responses).values(values).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def release(self, owner: str, key: str) -> None:
        statement = delete(responses).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def forget(self, *, before: datetime) -> int:
        is_old = responses.c.claimed_at < before
        query = select(func.count()).where(is_old)
        if not await self._database.read(lambda connection: connection.execute(query).scalar()):
            return 0  # the usual case: avoids a write
        return await self._database.write(
            lambda connection: connection.execute(delete(responses).where(is_old)).rowcount
        )

    async def forget_session(self, owner: str, session_id: str) -> int:
        mentions = _mentions(session_id, self._database.address.kind)
        statement = delete(responses).where(responses.c.owner == owner, mentions)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)


def _mentions(text: str, kind: str) -> ColumnElement[bool]:
    """Whether the body or a header contains the text."""
    encoded = literal(text.encode(), LargeBinary)
    if kind == "postgresql":
        position: ColumnElement[int] = func.position(encoded.op("IN")(responses.c.body))
    else:
        position = func.instr(responses.c.body, encoded)
    return or_(position > 0, cast(responses.c.headers, Text).contains(text, autoescape=True))


def _is_free(now: datetime) -> ColumnElement[bool]:
    """Whether a row can be claimed again: it is too old, or its lease ended without a response."""
    has_expired = and_(responses.c.status.is_(None), responses.c.claimed_until <= now)
    return or_(responses.c.claimed_at <= now - KEPT, has_expired)


def _is_running(owner: str, key: str) -> ColumnElement[bool]:
    return and_(responses.c.owner == owner, responses.c.idempotency_key == key, responses.c.status.is_(None))


def _read_response(connection: Connection, owner: str, key: str, fingerprint: str) -> KeptResponse:
    """The stored response of a request that could not be claimed. The claim has locked the row.

    `RequestMismatch` if the key belongs to another request, `RequestRunning` if there is no response yet.
    """
    row = connection.execute(
        select(responses).where(responses.c.owner == owner, responses.c.idempotency_key == key)
    ).one()
    if row.fingerprint != fingerprint:
        raise RequestMismatch(
            "This idempotency key was used for another request.",
            advice="Use a new key for a new request. To repeat a request, send exactly the same body.",
        )
    if row.status is None:
        raise RequestRunning(
            "The request with this idempotency key is still running.", advice="Send it again in a few seconds."
        )
    return KeptResponse(status=row.status, headers=row.headers, body=row.body)
