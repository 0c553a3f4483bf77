"""A database URL → an open, migrated database that runs short transactions."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar, Union

import anyio
from sqlalchemy import Connection, Table, exc
from sqlalchemy.dialects import sqlite

from bookwise.adapters.sql.address import Address, parse_address
from bookwise.adapters.sql.engines import DatabaseTimeouts, Runner, make_runner
from bookwise.adapters.sql.error_translation import damage_error, database_errors, is_locked, is_retryable
from bookwise.adapters.sql.new_database import create_tables
from bookwise.adapters.sql.revisions import HEAD
from bookwise.adapters.sql.version_check import check_known_version, stored_version

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert

P = ParamSpec("P")
T = TypeVar("T")
Insertion: TypeAlias = Union["PostgresInsert", sqlite.Insert]

_ATTEMPTS = 3
# Small, important tables. Embeddings can be computed again; threads and questions grow with use, and a check reads the
# whole table.
_TABLES_TO_CHECK = ("books", "lessons", "jobs", "api_keys")
_CLOSE_SECONDS = 5


class Database:
    """Runs functions that take a connection, each in a separate transaction.

    Cancellation waits for a running write, so the caller always learns whether it was committed.
    """

    def __init__(self, runner: Runner, address: Address) -> None:
        self.runner = runner
        self.address = address

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `work`. Each of its statements sees one consistent state of the database.

        `work` may run twice, if the server has closed the connection in the meantime.
        """
        with database_errors(self.address):
            try:
                return await self.runner.run(lambda connection: work(connection, *args, **kwargs), "read")
            except exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
            return await self.runner.run(lambda connection: work(connection, *args, **kwargs), "read")

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `work`, after its changes are durable. If it raises, nothing is changed.

        `work` may run up to three times, if the database rolls it back because of a conflict.
        """
        has_begun = False

        def transaction(connection: Connection) -> T:
            nonlocal has_begun
            connection.exec_driver_sql(self.runner.begin)
            has_begun = True
            result = work(connection, *args, **kwargs)
            connection.exec_driver_sql("COMMIT")
            return result

        attempts = 0
        with database_errors(self.address):
            while True:
                try:
                    return await self.runner.run(transaction, "write")
                except exc.DBAPIError as error:
                    attempts += 1
                    may_repeat = is_retryable(error) if has_begun else error.connection_invalidated
                    if attempts == _ATTEMPTS or not may_repeat:
                        raise

    def insert_into(self, table: Table) -> Insertion:
        """An INSERT statement that supports ON CONFLICT in the dialect of this database."""
        if self.address.kind == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as postgres_insert  # loads the dialect: 30 ms

            return postgres_insert(table)
        return sqlite.insert(table)


@asynccontextmanager
async def open_database(url: str, *, timeouts: DatabaseTimeouts | None = None) -> AsyncIterator[Database]:
    """The database at `url`, migrated to the newest version; closed at the end of the block."""
    timeouts = timeouts or DatabaseTimeouts()
    address = parse_address(url)
    database = Database(make_runner(address, timeouts), address)
    try:
        await _prepare(database, timeouts)
        yield database
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await database.runner.close()


async def _prepare(database: Database, timeouts: DatabaseTimeouts) -> None:
    version = await database.read(stored_version)
    check_known_version(version, database.address.name)
    if database.address.kind == "sqlite":
        await database.read(_use_write_ahead_log, timeouts.busy)
        version = version or await database.write(create_tables)
    if version != HEAD:
        await _migrate(database)
    elif database.address.kind == "sqlite":
        await database.read(_check_tables, database.address)


async def _migrate(database: Database) -> None:
    from bookwise.adapters.sql.migrate import MIGRATION_LOCK, migrate  # loads Alembic: 0.2 s

    while not MIGRATION_LOCK.acquire(blocking=False):  # noqa: ASYNC110 - a lock shared between event loops
        await anyio.sleep(0.01)
    try:
        await database.write(migrate, database.address.name)
    finally:
        MIGRATION_LOCK.release()


def _use_write_ahead_log(connection: Connection, seconds: float) -> None:
    """Switches a new file to WAL mode. SQLite does not wait for the lock here, so this function does."""
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
    for table in _TABLES_TO_CHECK:
        if connection.exec_driver_sql(f"PRAGMA quick_check({table})").scalar() != "ok":
            raise damage_error(address)
