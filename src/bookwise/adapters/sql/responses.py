"""Responses by idempotency key in SQL, stored for a day or as long as the settings say."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Row,
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
CLAIM_MAX = timedelta(hours=1)  #: longer than any claim


def _now() -> datetime:
    return datetime.now(UTC)


class SqlResponses:
    """One row per owner and key: a claim while the request runs, then the response."""

    def __init__(
        self,
        database: Database,
        *,
        kept: timedelta = KEPT,
        exclusive: bool = False,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._database = database
        self._kept = kept
        self._exclusive = exclusive  #: only this process claims
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
            index_elements=[responses.c.owner, responses.c.idempotency_key], set_=row, where=_is_free(now, self._kept)
        ).returning(responses.c.owner)

        def claim(connection: Connection) -> KeptResponse | None:
            if connection.execute(upsert).first() is not None:
                return None
            row = _find_row(connection, owner, key, fingerprint)
            if row.status is None:
                raise _running_error(None if self._exclusive else (row.claimed_until - now).total_seconds())
            return KeptResponse(status=row.status, headers=row.headers, body=row.body)

        return await self._database.write(claim)

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        values = {"status": response.status, "headers": dict(response.headers), "body": response.body}
        statement = update(responses).values(values).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def release(self, owner: str, key: str) -> None:
        statement = delete(responses).where(_is_running(owner, key))
        await self._database.write(lambda connection: connection.execute(statement))

    async def release_orphans(self) -> None:
        """Gives up all claims, as if their requests had failed. Only for a process that is the only one."""
        is_orphan = and_(responses.c.claimed_at >= self._clock() - CLAIM_MAX, responses.c.status.is_(None))
        query = select(responses.c.owner).where(is_orphan).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is not None:
            await self._database.write(lambda connection: connection.execute(delete(responses).where(is_orphan)))

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


def _is_free(now: datetime, kept: timedelta) -> ColumnElement[bool]:
    """Whether a row can be claimed again: it is too old, or its lease ended without a response."""
    has_expired = and_(responses.c.status.is_(None), responses.c.claimed_until <= now)
    return or_(responses.c.claimed_at <= now - kept, has_expired)


def _is_running(owner: str, key: str) -> ColumnElement[bool]:
    return and_(responses.c.owner == owner, responses.c.idempotency_key == key, responses.c.status.is_(None))


def _find_row(connection: Connection, owner: str, key: str, fingerprint: str) -> Row[Any]:
    """The row of a request that could not be claimed. The claim has locked it. Raises `RequestMismatch` if the key
    belongs to another request."""
    row = connection.execute(
        select(responses).where(responses.c.owner == owner, responses.c.idempotency_key == key)
    ).one()
    if row.fingerprint != fingerprint:
        raise RequestMismatch(
            "This idempotency key was used for another request.",
            advice="Use a new key for a new request. To repeat a request, send exactly the same body.",
        )
    return row


def _running_error(retry_after: float | None) -> RequestRunning:
    return RequestRunning(
        "The request with this idempotency key is still running.",
        advice="Send it again in a few seconds.",
        retry_after=retry_after,
    )
