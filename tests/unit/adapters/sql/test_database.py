"""Opening a database, and what its transactions promise."""

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, select, text

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import LOG_BYTES_MAX, DatabaseTimeouts
from bookwise.adapters.sql.tables import facts
from tests.support.databases import add_fact, ask, run

pytestmark = pytest.mark.anyio


async def test_what_is_acknowledged_on_sqlite_is_on_disk(tmp_path: Path) -> None:
    async with open_database(sqlite_url(tmp_path / "b.db"), timeouts=DatabaseTimeouts(busy=3)) as database:
        for pragma, value in {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 3000,
        }.items():
            assert await ask(database, f"PRAGMA {pragma}") == value


async def test_a_postgres_transaction_has_time_limits_and_leaves_the_session_as_it_was(postgres: Any) -> None:
    def limits(connection: Connection) -> list[Any]:
        names = ("statement_timeout", "lock_timeout", "transaction_isolation")
        return [connection.execute(text(f"SHOW {name}")).scalar() for name in names]

    with postgres.new_database() as url:
        async with open_database(url, timeouts=DatabaseTimeouts(statement=7, busy=3)) as database:
            assert await database.write(limits) == ["7s", "3s", "read committed"]
            assert await database.read(limits) == ["0", "0", "read committed"]


async def test_every_spelling_of_a_postgres_url_opens_it(postgres: Any) -> None:
    with postgres.new_database() as url:
        bare = url.removeprefix("postgresql://postgres:@")
        for spelling in (url, f"postgres://postgres:@{bare}", f"postgresql+psycopg://{bare}&user=postgres"):
            async with open_database(spelling) as database:
                assert await ask(database, "SELECT count(*) FROM books") == 0


@pytest.mark.parametrize("kind", ["importing", "opening", "making"])
async def test_starting_on_a_new_or_up_to_date_file_loads_only_what_it_needs(tmp_path: Path, kind: str) -> None:
    if kind != "making":
        async with open_database(sqlite_url(tmp_path / "b.db")):
            pass
    program = (
        "import anyio, sys\n"
        "from bookwise.adapters.sql import catalog, database, jobs, vectors\n"
        "async def main():\n"
        "    async with database.open_database(sys.argv[1]):\n"
        "        pass\n"
        "if sys.argv[2] != 'importing':\n"
        "    anyio.run(main)\n"
        "print(*sys.modules)\n"
    )
    ended = await anyio.run_process([sys.executable, "-c", program, sqlite_url(tmp_path / "b.db"), kind])
    loaded = ended.stdout.decode().split()
    unwanted = {"alembic", "mako", "psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm"}
    assert unwanted.isdisjoint(loaded)


async def test_a_missing_postgres_driver_is_named_with_the_way_to_install_it() -> None:
    program = (
        "import anyio, sys\n"
        "sys.modules['psycopg'] = None\n"
        "from bookwise.adapters.sql.database import open_database\n"
        "from bookwise.domain.errors import Misconfigured\n"
        "async def main():\n"
        "    async with open_database('postgresql://h/d'):\n"
        "        pass\n"
        "try:\n"
        "    anyio.run(main)\n"
        "except Misconfigured as error:\n"
        "    print(error.advice)\n"
    )
    ended = await anyio.run_process([sys.executable, "-c", program])
    assert "bookwise[postgres]" in ended.stdout.decode()


async def test_a_write_that_raises_did_not_happen(database: Database) -> None:
    def fail_half_way(connection: Connection) -> None:
        connection.execute(text("INSERT INTO facts (key, value) VALUES ('half', 1)"))
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        await database.write(fail_half_way)
    assert await ask(database, "SELECT count(*) FROM facts") == 0
    await add_fact(database, "afterwards")


async def test_a_write_that_has_begun_ends_before_its_task_is_cancelled(database: Database) -> None:
    with anyio.move_on_after(0.001) as scope:
        for number in range(1000):
            await add_fact(database, f"{number:04}")
            done = number
    assert scope.cancelled_caught
    assert await ask(database, "SELECT count(*) FROM facts") >= done + 1


async def test_cancelled_readers_give_their_connections_back(database_url: str) -> None:
    for number in range(12):
        async with open_database(database_url) as database:
            for part in range(6):
                with anyio.move_on_after((number * 6 + part) / 20_000):
                    await ask(database, "SELECT count(*) FROM facts")
            assert await ask(database, "SELECT count(*) FROM facts") == 0


async def test_writers_in_one_process_take_turns_and_lose_nothing(database: Database) -> None:
    await add_fact(database, "sum")

    async def add() -> None:
        await run(database, "UPDATE facts SET value = value + 1 WHERE key = 'sum'")

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(add)
    assert await ask(database, "SELECT value FROM facts") == 41


async def test_transactions_that_block_each_other_are_tried_again(postgres: Any) -> None:
    """Two that lock two rows in opposite order: PostgreSQL ends one, which then runs anew."""
    with postgres.new_database() as url:
        async with open_database(url) as database:
            await add_fact(database, "a")
            await add_fact(database, "b")

            def add_in_order(connection: Connection, first: str, second: str) -> None:
                grow = text("UPDATE facts SET value = value + 1 WHERE key = :key")
                connection.execute(grow, {"key": first})
                connection.execute(text("SELECT pg_sleep(0.3)"))
                connection.execute(grow, {"key": second})

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(database.write, add_in_order, "a", "b")
                tasks.start_soon(database.write, add_in_order, "b", "a")
            assert await ask(database, "SELECT sum(value) FROM facts") == 6


async def test_two_processes_that_read_and_then_write_take_turns(database_url: str) -> None:
    def grow(connection: Connection) -> None:
        value = connection.execute(select(facts.c.value).with_for_update()).scalar_one()
        connection.execute(text("UPDATE facts SET value = :value"), {"value": value + 1})

    async def grow_often(database: Database) -> None:
        for _ in range(15):
            await database.write(grow)

    async with open_database(database_url) as one, open_database(database_url) as other:
        await add_fact(one, "sum")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(grow_often, one)
            tasks.start_soon(grow_often, other)
        assert await ask(one, "SELECT value FROM facts") == 31


async def test_the_write_ahead_log_is_cut_again_after_a_large_transaction(tmp_path: Path) -> None:
    path = tmp_path / "bookwise.db"
    log = tmp_path / "bookwise.db-wal"
    async with open_database(sqlite_url(path)) as database:
        blob = {"value": "x" * 1_000_000}
        statement = text("INSERT INTO facts (key, value) VALUES (:key || :value, 1)")

        def write_much(connection: Connection) -> None:
            for number in range(2 * LOG_BYTES_MAX // 1_000_000):
                connection.execute(statement, {"key": str(number), **blob})

        await database.write(write_much)
        assert log.stat().st_size > LOG_BYTES_MAX
        for number in range(3):
            await add_fact(database, f"small {number}")
        assert log.stat().st_size <= LOG_BYTES_MAX
