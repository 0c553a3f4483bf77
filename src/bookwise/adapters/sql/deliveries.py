"""Handled webhook deliveries in SQL."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import and_, delete, select, update

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import webhook_deliveries as deliveries

DELIVERIES_KEPT = timedelta(days=365)  #: a push that someone has recorded can be sent again at any time
CLAIM_SECONDS = 60.0  #: how long a process that has died keeps a delivery from being handled


def _now() -> datetime:
    return datetime.now(UTC)


class SqlDeliveries:
    """One row per delivery. Of several processes that claim the same one, the first gets it."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, delivery_id: str) -> bool:
        now = self._clock()
        is_abandoned = and_(
            deliveries.c.handled_at.is_(None), deliveries.c.claimed_at <= now - timedelta(seconds=CLAIM_SECONDS)
        )
        insertion = self._database.insert_into(deliveries).values(delivery_id=delivery_id, claimed_at=now)
        statement = insertion.on_conflict_do_update(
            index_elements=[deliveries.c.delivery_id], set_={"claimed_at": now}, where=is_abandoned
        ).returning(deliveries.c.delivery_id)
        return await self._database.write(lambda connection: connection.execute(statement).first() is not None)

    async def keep(self, delivery_id: str) -> None:
        statement = update(deliveries).where(deliveries.c.delivery_id == delivery_id).values(handled_at=self._clock())
        await self._database.write(lambda connection: connection.execute(statement))

    async def release(self, delivery_id: str) -> None:
        statement = delete(deliveries).where(deliveries.c.delivery_id == delivery_id)
        await self._database.write(lambda connection: connection.execute(statement))

    async def newest(self) -> datetime | None:
        query = select(deliveries.c.claimed_at).order_by(deliveries.c.claimed_at.desc()).limit(1)
        return await self._database.read(lambda connection: connection.execute(query).scalar())

    async def forget(self, *, before: datetime) -> int:
        is_old = deliveries.c.claimed_at < before
        query = select(deliveries.c.delivery_id).where(is_old).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case: blocks no writer
        return await self._database.write(
            lambda connection: connection.execute(delete(deliveries).where(is_old)).rowcount
        )
