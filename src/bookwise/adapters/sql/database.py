"""Turns a database URL into an open, migrated database that runs short transactions."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Union

import anyio
from sqlalchemy import Connection, Table, exc

from bookwise.adapters.sql.address import Address, parse_address
from bookwise.adapters.sql.engines import DatabaseTimeouts, Runner, make_runner
from bookwise.adapters.sql.error_translation import damaged, is_locked, translated, worth_another_try
from bookwise.adapters.sql.new_database import fill
from bookwise.adapters.sql.revisions import HEAD
from bookwise.adapters.sql.version_check import refuse_unknown, stored_version

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 3
# Small and precious. Embeddings can be made again; threads and what was asked grow with the readers, and a check reads
# all of a table.
_CHECKED_AT_OPEN = ("books", "lessons", "jobs", "api_keys")
_GOODBYE_SECONDS = 5


class Database:
    """Runs plain functions of a connection, each in a transaction of its own.

    A write that has begun ends before its task can be cancelled: whoever waits for one knows how it went.
    """

    def __init__(self, runner: Runner, address: Address) -> None:
        self.runner = runner
        self.address = address

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns. Each of its statements sees one state of the database."""
        with translated(self.address):
            return await self.runner.run(lambda connection: work(connection, *args, **kwargs), "read")

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns, after all it did is durable; when it raises, none of it happened."""

        def transaction(connection: Connection) -> T:
            _begin(connection)
            result = work(connection, *args, **kwargs)
            connection.commit()
            return result

        tries = 0
        with translated(self.address):
            while True:
                try:
                    return await self.runner.run(transaction, "write")
                except exc.DBAPIError as error:
                    tries += 1
                    if tries == _TRIES or not worth_another_try(error):
                        raise

    def insert_into(self, table: Table) -> Union["PostgresInsert", "SqliteInsert"]:
        """An INSERT that can say ON CONFLICT, in the words of this database."""
        if self.address.kind == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as postgres_insert

            return postgres_insert(table)
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)


@asynccontextmanager
async def open_database(url: str, *, patience: DatabaseTimeouts | None = None) -> AsyncIterator[Database]:
    """The database at `url`, brought to the newest version; closed at the end of the block."""
    patience = patience or DatabaseTimeouts()
    address = parse_address(url)
    database = Database(make_runner(address, patience), address)
    try:
        await _prepare(database, patience)
        yield database
    finally:
        with anyio.move_on_after(_GOODBYE_SECONDS, shield=True):
            await database.runner.close()


async def _prepare(database: Database, patience: DatabaseTimeouts) -> None:
    version = await database.read(stored_version)
    refuse_unknown(version, database.address.name)
    if database.address.kind == "sqlite":
        await database.read(_use_write_ahead_log, patience.busy)
        version = version or await database.write(fill)
    if version != HEAD:
        await _migrate(database)
    elif database.address.kind == "sqlite":
        await database.read(_check_tables, database.address)


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


def _use_write_ahead_log(connection: Connection, seconds: float) -> None:
    """Switches a new file to WAL. SQLite does not wait for its lock here, so this does."""
    deadline = time.monotonic() + seconds
    while connection.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except exc.OperationalError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _check_tables(connection: Connection, address: Address) -> None:
    for table in _CHECKED_AT_OPEN:
        if connection.exec_driver_sql(f"PRAGMA quick_check({table})").scalar() != "ok":
            raise damaged(address)
