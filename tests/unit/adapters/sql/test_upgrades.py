"""Upgrading a database with data in it, from every revision, at once in several processes, and through a kill."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, event, inspect, text

from bookwise.adapters.sql.address import parse_address
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts, make_runner
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.keys import SqlKeys
from bookwise.adapters.sql.migrate import MIGRATION_LOCK, script_config
from bookwise.adapters.sql.revisions import HEAD, HISTORY
from bookwise.adapters.sql.tables import metadata
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.adapters.sql.version_check import stored_version
from tests.support.databases import open_in_child
from tests.support.old_rows import statements_of
from tests.support.processes import Report, child

pytestmark = pytest.mark.anyio

Rows = dict[str, list[Any]]


@asynccontextmanager
async def unmigrated(url: str) -> AsyncIterator[Database]:
    """The database as it is."""
    address = parse_address(url)
    database = Database(make_runner(address, DatabaseTimeouts()), address)
    try:
        yield database
    finally:
        await database.runner.close()


async def make_old(url: str, revision: str) -> Rows:
    """A database of that revision, with a row in every table; returns all rows."""
    await migrate_to(url, revision)
    async with unmigrated(url) as database:
        await database.write(write_rows, revision, 1)
        return await database.read(rows_of, None)


async def migrate_to(url: str, revision: str) -> None:
    def upgrade(connection: Connection) -> None:
        config = script_config()
        config.attributes["connection"] = connection
        with MIGRATION_LOCK:
            command.upgrade(config, revision)

    async with unmigrated(url) as database:
        await database.write(upgrade)


def write_rows(connection: Connection, revision: str, n: int) -> None:
    for statement in statements_of(revision, kind=connection.dialect.name, n=n):
        connection.exec_driver_sql(statement)


def rows_of(connection: Connection, like: Rows | None) -> Rows:
    """All rows of the tables of a revision, in the columns that it had."""
    tables: dict[str, list[str]] = {}
    for name in like if like is not None else {*inspect(connection).get_table_names()} & {*metadata.tables}:
        tables[name] = [column["name"] for column in inspect(connection).get_columns(name)]
    found: Rows = {}
    for name, columns in tables.items():
        names = columns if like is None else like[name][0]
        rows = connection.execute(text(f"SELECT {', '.join(names)} FROM {name} ORDER BY 1")).all()
        found[name] = [names, [tuple(map(str, row)) for row in rows]]
    return found


@pytest.mark.parametrize("revision", HISTORY)
async def test_every_earlier_revision_is_migrated_with_its_data(database_url: str, revision: str) -> None:
    before = await make_old(database_url, revision)
    assert [name for name, (_, rows) in before.items() if not rows] == [], "every table has a row: see old_rows.py"
    async with open_database(database_url) as database:
        assert await database.read(stored_version) == HEAD
        assert await database.read(rows_of, before) == before
        assert (await SqlCatalog(database, index_id="index", exclusive=False).live("book1")).revisions == {"r"}
        assert [job.job_id for job in await SqlJobs(database).jobs()] == [101]
        if revision >= "0002":
            threads = await SqlThreads(database).threads(owner="ann")
            assert len(threads) == 1
        if revision >= "0003":
            assert [key.name for key in await SqlKeys(database).keys()] == ["a key"]


@pytest.mark.parametrize("revision", HISTORY)
async def test_the_statements_of_every_earlier_release_work_on_the_newest_tables(
    database_url: str, revision: str
) -> None:
    """In a rolling upgrade, processes of the previous release still run when a new one has migrated the database."""
    await make_old(database_url, revision)
    async with open_database(database_url) as database:
        await database.write(write_rows, revision, 2)


@pytest.mark.parametrize(("old", "new"), list(pairwise(HISTORY)))
async def test_a_migration_only_adds(database_url: str, old: str, new: str) -> None:
    """Nothing that the previous release uses disappears, changes its type or becomes stricter."""
    await make_old(database_url, old)
    async with unmigrated(database_url) as database:
        before = await database.read(shape_of)
    await migrate_to(database_url, new)
    async with unmigrated(database_url) as database:
        after = await database.read(shape_of)
    for table, columns in before.items():
        for name, column in columns.items():
            assert after[table][name] == column, f"{table}.{name}"
        for name in after[table].keys() - columns.keys():
            _, is_nullable, default = after[table][name]
            assert is_nullable or default, f"{table}.{name}: an older release writes rows without it"


def shape_of(connection: Connection) -> dict[str, dict[str, Any]]:
    inspector = inspect(connection)
    shape: dict[str, dict[str, Any]] = {}
    for table in inspector.get_table_names():
        shape[table] = {
            column["name"]: (str(column["type"]), column["nullable"], column["default"])
            for column in inspector.get_columns(table)
        }
        shape[table]["primary key"] = (str(inspector.get_pk_constraint(table)["constrained_columns"]), True, None)
        shape[table]["checks"] = (str(sorted(c["sqltext"] for c in inspector.get_check_constraints(table))), True, None)
    return shape


@pytest.mark.slow
async def test_processes_that_start_at_once_migrate_an_old_database_once(database_url: str) -> None:
    before = await make_old(database_url, "0003")
    with ExitStack() as running:
        children = [running.enter_context(child(open_in_child, database_url)) for _ in range(6)]
        assert [one.ended() for one in children] == [(0, ["opened"])] * 6
    async with open_database(database_url) as database:
        assert await database.read(rows_of, before) == before
        versions = await database.read(
            lambda connection: connection.execute(text("SELECT * FROM alembic_version")).all()
        )
        assert [tuple(version) for version in versions] == [(HEAD,)]


def open_and_die(report: Report, url: str, number: int) -> None:
    """What a child process runs: opens the database, and is killed at its n-th statement."""
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1
        if statements == number:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    open_in_child(report, url)


@pytest.mark.slow
async def test_a_kill_at_any_statement_leaves_the_old_tables_or_the_new_ones(database_url: str) -> None:
    before = await make_old(database_url, "0003")
    versions = []
    for number in range(1, 200, 4):
        with child(open_and_die, database_url, number) as process:
            code, lines = process.ended()
        async with unmigrated(database_url) as database:
            versions.append(await database.read(stored_version))
            assert await database.read(rows_of, before) == before
        if code == 0:
            break
        assert (code, lines) == (-signal.SIGKILL, [])
        assert versions[-1] in ("0003", HEAD)
    assert len(versions) > 5, "it was killed several times"
    assert versions[-1] == HEAD, "and the last start completed"
