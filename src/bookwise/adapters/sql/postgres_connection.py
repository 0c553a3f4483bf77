"""A PostgreSQL address → an engine and connections with time limits. Loads psycopg, an optional package."""

import asyncio
import select
from typing import Any, Self, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import event, exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bookwise.adapters.sql.address import Address
from bookwise.adapters.sql.engines import DatabaseTimeouts

T = TypeVar("T")

# Finds within a minute that a firewall has dropped an idle connection.
_KEEP_ALIVE: dict[str, Any] = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_EXTRA_SECONDS = 1.0  # in a transaction the server times out first, with a better message


class PostgresConnection(psycopg.AsyncConnection[Any]):
    """A connection in autocommit mode whose statements have a time limit. It keeps no state in the session."""

    limit: float | None = None  #: longest time of one statement, in seconds

    @classmethod
    async def open(cls, url: str, timeouts: DatabaseTimeouts) -> Self:
        """Raises `TimeoutError` when there is no answer in time."""
        async with asyncio.timeout(timeouts.connect):
            # Without prepared statements, a statement takes one round trip and works over every pooler.
            connection = await cls.connect(url, autocommit=True, prepare_threshold=None, **_KEEP_ALIVE)
        connection.limit = timeouts.statement + _EXTRA_SECONDS
        return connection

    async def wait(  # every statement and every commit waits here
        self,
        gen: PQGen[T],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - of the base class
    ) -> T:
        """Waits for the server. After the time limit, the statement is cancelled in the server too."""
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        async with asyncio.timeout(self.limit):
            return await super().wait(gen, interval)

    @property
    def has_ended(self) -> bool:
        """Whether this idle connection was closed, for example by the server. Needs no round trip."""
        if self.closed:
            return True
        for _ in range(3):  # its last words, then its end
            if not self._is_readable():
                return False
            try:
                self.pgconn.consume_input()
            except psycopg.OperationalError:
                return True
        return True

    def _is_readable(self) -> bool:
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(0))


def make_engine(address: Address, timeouts: DatabaseTimeouts) -> AsyncEngine:
    """An engine that has not connected yet. Its errors and logs never contain parameters."""
    engine = create_async_engine(
        "postgresql+psycopg://",
        async_creator=lambda: PostgresConnection.open(address.location, timeouts),
        isolation_level="AUTOCOMMIT",
        use_native_hstore=False,  # it would be looked up at the first connection
        pool_size=5,
        max_overflow=5,
        pool_timeout=timeouts.pool,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "checkout", _replace_ended)
    return engine


def _replace_ended(connection: Any, _record: object, _proxy: object) -> None:
    if connection.driver_connection.has_ended:
        raise exc.InvalidatePoolError
