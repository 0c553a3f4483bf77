"""Turns a database URL into an open, migrated database that runs short transactions."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Union

import anyio
from sqlalchemy import Connection, Table, exc

from bookwise.adapters.sql.address import Address, parse_address
from bookwise.adapters.sql.border import damaged, is_locked, translated, worth_another_try
from bookwise.adapters.sql.engines import Patience, make_engine
from bookwise.adapters.sql.versions import HEAD, refuse_unknown, stored_version

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
    from sqlalchemy.ext.asyncio import AsyncEngine

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 3
_CHECKED_AT_OPEN = ("books", "lessons", "jobs")  # small and precious; the embeddings can be made again
_GOODBYE_SECONDS = 5


class Database:
    """Runs plain functions of a connection, each in a transaction of its own.

    A write that has begun ends before its task can be cancelled: whoever waits for one knows how it went.
    """

    def __init__(self, engine: "AsyncEngine", address: Address) -> None:
        self.engine = engine
        self.address = address
        # SQLite has one writer at a time; waiting here is fairer than its polling, and holds no connection.
        one_writer = anyio.Lock() if address.kind == "sqlite" else None
        self._turn: AbstractAsyncContextManager[None] = one_writer or nullcontext()

    async def read(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What `work` returns. Each of its statements sees one state of the database."""
        with translated(self.address):
            async with self.engine.connect() as connection:
                return await connection.run_sync(work, *args, **kwargs)

    async def write(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What `work` returns, after all it did is durable; when it raises, none of it happened."""
        async with self._turn:
            with anyio.CancelScope(shield=True), translated(self.address):
                result = await self._tried_again(work, *args, **kwargs)
            return result

    def insert_into(self, table: Table) -> Union["PostgresInsert", "SqliteInsert"]:
        """An INSERT that can say ON CONFLICT, in the words of this database."""
        if self.address.kind == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as postgres_insert

            return postgres_insert(table)
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)

    async def _tried_again(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        for _ in range(_TRIES - 1):
            try:
                return await self._transaction(work, *args, **kwargs)
            except exc.DBAPIError as error:
                if not worth_another_try(error):
                    raise
        return await self._transaction(work, *args, **kwargs)

    async def _transaction(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        async with self.engine.connect() as connection:
            await connection.run_sync(_begin)
            result = await connection.run_sync(work, *args, **kwargs)
            await connection.commit()
            return result


@asynccontextmanager
async def open_database(url: str, *, patience: Patience | None = None) -> AsyncIterator[Database]:
    """The database at `url`, brought to the newest version; closed at the end of the block."""
    patience = patience or Patience()
    address = parse_address(url)
    database = Database(make_engine(address, patience), address)
    try:
        version = await database.read(stored_version)
        refuse_unknown(version, address.name)
        if address.kind == "sqlite":
            await _use_write_ahead_log(database, patience.busy)
        if version == HEAD:
            await database.read(_check_tables, address)
        else:
            await _migrate(database)
        yield database
    finally:
        with anyio.move_on_after(_GOODBYE_SECONDS, shield=True):
            await database.engine.dispose()


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execution_options(isolation_level="READ COMMITTED")


async def _migrate(database: Database) -> None:
    from bookwise.adapters.sql.migrate import ONE_AT_A_TIME, migrate  # loads Alembic: 0.2 s

    while not ONE_AT_A_TIME.acquire(blocking=False):  # noqa: ASYNC110 - a lock across event loops
        await anyio.sleep(0.01)
    try:
        await database.write(migrate, database.address.name)
    finally:
        ONE_AT_A_TIME.release()


async def _use_write_ahead_log(database: Database, seconds: float) -> None:
    """Switches a new file to WAL. SQLite does not wait for its lock here, so this does."""
    deadline = time.monotonic() + seconds
    with translated(database.address):
        while True:
            try:
                async with database.engine.connect() as connection:
                    return await connection.run_sync(_switch_to_wal)
            except exc.OperationalError as error:
                if not is_locked(error) or time.monotonic() > deadline:
                    raise
            await anyio.sleep(0.02)


def _switch_to_wal(connection: Connection) -> None:
    if connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _check_tables(connection: Connection, address: Address) -> None:
    if address.kind != "sqlite":
        return
    for table in _CHECKED_AT_OPEN:
        if connection.exec_driver_sql(f"PRAGMA quick_check({table})").scalar() != "ok":
            raise damaged(address)
