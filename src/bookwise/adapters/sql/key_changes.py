"""Notices changes of API keys that any process has made, in PostgreSQL."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import psycopg
from sqlalchemy import text

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.engines import DatabaseTimeouts
from bookwise.adapters.sql.fact_names import KEY_CHANGES
from bookwise.adapters.sql.postgres_connection import PostgresConnection
from bookwise.domain.errors import StoreUnavailable

POLL_SECONDS = 0.5  #: a change is known within a second, also with the time to read it
HEARTBEAT_SECONDS = 60.0  #: a listener also reads the number of changes this often, to be safe

# A trigger on the keys counts and announces: see migration 0005.
_LISTEN = "LISTEN bookwise_keys"
_COUNT = text(f"SELECT value FROM facts WHERE key = '{KEY_CHANGES}'")

logger = logging.getLogger(__name__)


class PostgresKeyChanges:
    """Listens on a separate connection, and reconnects when it is lost.

    Behind a connection pooler notifications do not arrive. Then, and while no connection can be made, the number of
    changes is read twice a second.
    """

    def __init__(self, database: Database, timeouts: DatabaseTimeouts | None = None) -> None:
        self._database = database
        self._timeouts = timeouts or DatabaseTimeouts()
        self._is_pooled = False

    async def watch(self) -> AsyncGenerator[None]:
        known = -1
        async with aclosing(self._signals()) as signals:
            async for _ in signals:
                try:
                    count = await self._count()
                except StoreUnavailable:
                    continue
                if count != known:
                    known = count
                    yield

    async def _signals(self) -> AsyncGenerator[None]:
        """Yields when there may have been a change."""
        while True:
            if not self._is_pooled:
                try:
                    async with aclosing(self._notifications()) as notifications:
                        async for _ in notifications:
                            yield
                except (psycopg.Error, OSError) as error:
                    logger.warning("keys.not-listening", extra={"error": type(error).__name__})
            yield
            await anyio.sleep(POLL_SECONDS)

    async def _notifications(self) -> AsyncGenerator[None]:
        """Yields at once, and for each notification. Ends when none would arrive."""
        connection = await PostgresConnection.open(self._database.address.location, self._timeouts)
        async with connection:
            self._is_pooled = not await _is_direct(connection)
            if self._is_pooled:
                return
            await connection.execute(_LISTEN)
            while True:
                yield
                with anyio.move_on_after(HEARTBEAT_SECONDS):
                    await anyio.wait_readable(connection.fileno())
                async for _ in connection.notifies(timeout=0):
                    pass

    async def _count(self) -> int:
        return await self._database.read(lambda connection: connection.execute(_COUNT).scalar()) or 0


async def _is_direct(connection: PostgresConnection) -> bool:
    """Whether the session is this connection's own. A pooler gives its clients made-up process numbers."""
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    return row is not None and row[0] == connection.info.backend_pid
