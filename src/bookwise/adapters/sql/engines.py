"""Turns an address into a SQLAlchemy engine, loading only the driver and dialect that it needs."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bookwise.adapters.sql.address import Address
from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait before a database counts as unavailable, in seconds."""

    busy: float = 5.0  #: for another writer's lock
    connect: float = 10.0
    statement: float = 30.0
    pool: float = 10.0  #: for a free connection


def make_engine(address: Address, patience: Patience) -> "AsyncEngine":
    """An engine that has not connected yet. Errors and logs never show parameters."""
    return (_sqlite_engine if address.kind == "sqlite" else _postgres_engine)(address, patience)


def _sqlite_engine(address: Address, patience: Patience) -> "AsyncEngine":
    from sqlalchemy import URL, event
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=address.location),
        connect_args={"timeout": patience.busy, "isolation_level": None},  # BEGIN is ours to say
        pool_size=4,
        max_overflow=0,
        pool_timeout=patience.pool,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _postgres_engine(address: Address, patience: Patience) -> "AsyncEngine":
    if find_spec("asyncpg") is None:
        raise Misconfigured(
            "DATABASE_URL names a PostgreSQL database, but its driver is not installed.",
            advice="Install it: pip install 'bookwise[postgres]'.",
        )
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

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
