"""Turns an address into something that runs functions of a connection; loads only the driver it needs."""

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

_READERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """How long to wait before a database counts as unavailable, in seconds."""

    busy: float = 5.0  #: for another writer's lock
    connect: float = 10.0
    statement: float = 30.0
    pool: float = 10.0  #: for a free connection


class Runner(Protocol):
    """Runs plain functions of a connection without holding up the event loop."""

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T: ...

    async def close(self) -> None: ...


def make_runner(address: Address, patience: DatabaseTimeouts) -> Runner:
    """A runner that has not connected yet. Errors and logs of its engine never show parameters."""
    if address.kind == "sqlite":
        return SqliteRunner(address, patience)
    return PostgresRunner(_postgres_engine(address, patience))


class SqliteRunner:
    """One hop to a worker thread for a whole transaction.

    An asynchronous driver would hop several times for each statement, and leave a thread behind when it
    cannot open the file.
    """

    def __init__(self, address: Address, patience: DatabaseTimeouts) -> None:
        self._engine = create_engine(
            URL.create("sqlite", database=address.location),
            connect_args={"timeout": patience.busy, "isolation_level": None},  # BEGIN is ours to say
            pool_size=_READERS + 1,
            max_overflow=0,
            hide_parameters=True,
        )
        event.listen(self._engine, "connect", _set_pragmas)
        # SQLite has one writer at a time; to wait here is fairer than its polling, and holds no connection.
        self._limits = {"read": anyio.CapacityLimiter(_READERS), "write": anyio.CapacityLimiter(1)}

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T:
        return await anyio.to_thread.run_sync(self._call, work, limiter=self._limits[purpose])

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self._engine.dispose, limiter=self._limits["write"])

    def _call(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)


class PostgresRunner:
    """Asynchronous all the way down."""

    def __init__(self, engine: "AsyncEngine") -> None:
        self._engine = engine

    async def run(self, work: Callable[[Connection], T], purpose: Purpose) -> T:
        # A write that has begun ends before its task is cancelled, as it does in a thread.
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


def _postgres_engine(address: Address, patience: DatabaseTimeouts) -> "AsyncEngine":
    from sqlalchemy.ext.asyncio import create_async_engine

    try:
        import asyncpg  # type: ignore[import-untyped]
    except ImportError as error:
        raise Misconfigured(
            "DATABASE_URL names a PostgreSQL database, but its driver is not installed.",
            advice="Install it: pip install 'bookwise[postgres]'.",
        ) from error

    milliseconds = {"statement_timeout": patience.statement, "lock_timeout": patience.busy}

    async def connect() -> Any:
        return await asyncpg.connect(
            address.location,
            timeout=patience.connect,
            command_timeout=patience.statement + 1,  # the server's own limit comes first, and says more
            server_settings={name: str(int(limit * 1000)) for name, limit in milliseconds.items()},
        )

    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        isolation_level="AUTOCOMMIT",  # a lone SELECT needs no BEGIN and ROLLBACK around it
        pool_size=5,
        max_overflow=5,
        pool_timeout=patience.pool,
        pool_pre_ping=True,
        hide_parameters=True,
    )
