"""A database address → a runner for functions that take a connection. Loads only the driver it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
from sqlalchemy import URL, Connection, create_engine, event

from bookwise.adapters.sql.address import Address
from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
Purpose: TypeAlias = Literal["read", "write"]

_MAX_READERS = 4
LOG_BYTES_MAX = 16 * 1024 * 1024  #: to which SQLite cuts its write-ahead log after a large transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """How long to wait before a database is considered unavailable, in seconds."""

    busy: float = 5.0  #: for the lock of another writer
    connect: float = 10.0
    statement: float = 30.0
    pool: float = 10.0  #: for a free connection


class Runner(Protocol):
    """Runs functions that take a connection without blocking the event loop.

    Connections are in autocommit mode: each statement is a transaction, unless the function sends `begin` first.
    """

    @property
    def begin(self) -> str:
        """The statement that begins a transaction which writes."""

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T: ...

    async def close(self) -> None: ...


def make_runner(address: Address, timeouts: DatabaseTimeouts) -> Runner:
    """A runner that has not connected yet. Errors and logs of its engine never contain parameters."""
    if address.kind == "sqlite":
        return SqliteRunner(address, timeouts)
    return PostgresRunner(_postgres_engine(address, timeouts), timeouts)


class SqliteRunner:
    """Runs a whole transaction in one call to a worker thread.

    An asynchronous driver would switch threads several times per statement, and leak a thread when it cannot open the
    file.
    """

    begin = "BEGIN IMMEDIATE"

    def __init__(self, address: Address, timeouts: DatabaseTimeouts) -> None:
        self._engine = create_engine(
            URL.create("sqlite", database=address.location),
            connect_args={"timeout": timeouts.busy, "isolation_level": None},  # autocommit
            pool_size=_MAX_READERS + 1,
            max_overflow=0,
            hide_parameters=True,
        )
        event.listen(self._engine, "connect", _set_pragmas)
        # SQLite allows one writer at a time. Waiting here is fairer than its polling, and occupies no connection.
        self._limits = {"read": anyio.CapacityLimiter(_MAX_READERS), "write": anyio.CapacityLimiter(1)}

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T:
        return await anyio.to_thread.run_sync(self._call, work, limiter=self._limits[purpose])

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self._engine.dispose, limiter=self._limits["write"])

    def _call(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)


class PostgresRunner:
    """Runs transactions on the asynchronous driver, over any connection pooler.

    A pooler such as PgBouncer may give each transaction another session of the server. So nothing is set for a session:
    a transaction carries its own time limits, and no statement is prepared for later.
    """

    def __init__(self, engine: "AsyncEngine", timeouts: DatabaseTimeouts) -> None:
        self._engine = engine
        limits = {"statement_timeout": timeouts.statement, "lock_timeout": timeouts.busy}
        self.begin = "; ".join(
            ["BEGIN ISOLATION LEVEL READ COMMITTED"]
            + [f"SET LOCAL {name} = {int(seconds * 1000)}" for name, seconds in limits.items()]
        )

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T:
        # Cancellation waits for a running write, as it does in a thread.
        await anyio.lowlevel.checkpoint_if_cancelled()
        with anyio.CancelScope(shield=purpose == "write"):
            async with self._engine.connect() as connection:
                result = await connection.run_sync(work)
        return result

    async def close(self) -> None:
        await self._engine.dispose()


def _set_pragmas(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES_MAX}")


def _postgres_engine(address: Address, timeouts: DatabaseTimeouts) -> "AsyncEngine":
    try:
        from bookwise.adapters.sql.postgres_connection import make_engine  # loads psycopg, an optional package: 0.2 s
    except ImportError as error:
        raise Misconfigured(
            "DATABASE_URL is a PostgreSQL address, but the PostgreSQL driver is not installed.",
            advice="Run `pip install 'bookwise[postgres]'`.",
        ) from error
    return make_engine(address, timeouts)
