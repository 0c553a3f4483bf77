"""What a damaged file, a full disk, a lock or a lost server looks like from inside."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from traceback import format_exception
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DBAPIError

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts
from bookwise.adapters.sql.tables import books
from bookwise.domain.errors import DamagedData, DiskFull, Misconfigured, StoreUnavailable
from tests.support.databases import add_fact, ask, run
from tests.support.postgres import running_postgres

pytestmark = pytest.mark.anyio

SHORT_TIMEOUTS = DatabaseTimeouts(busy=0.2, connect=2, statement=0.5, pool=0.3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bookwise.db"


async def make(path: Path) -> None:
    """A file with one book that fills several pages."""
    async with open_database(sqlite_url(path)) as database:
        await run(
            database,
            "INSERT INTO books (id, title, base_url, language, source, modules, embedder, embedder_name,"
            " embedder_size, generation, created_at)"
            " VALUES ('b', :title, '', '', '', '[]', '', '', 0, 1, '2026-01-01T00:00:00.000000+00:00')",
            title="long " * 20_000,
        )


def zero_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(16))


def clobber_pages(path: Path) -> None:
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 512)


def cut_in_half(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def clobber_the_books(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'books'"
        page = connection.execute(query).fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


def break_a_chain_of_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 4096)
        file.write(b"\xff" * 4)


@pytest.mark.parametrize("damage", [zero_header, clobber_pages, cut_in_half, clobber_the_books, break_a_chain_of_pages])
async def test_a_damaged_file_is_named_and_never_touched(path: Path, damage: Any) -> None:
    await make(path)
    damage(path)
    before = await anyio.Path(path).read_bytes()
    with pytest.raises(DamagedData) as caught:
        async with open_database(sqlite_url(path)):
            pass
    assert str(path) in caught.value.message
    assert caught.value.advice
    assert await anyio.Path(path).read_bytes() == before


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE books SET modules = '[{'",
        "UPDATE books SET modules = CAST(x'ff' AS TEXT)",
        "UPDATE books SET created_at = 'yesterday'",
        "DROP TABLE books",
    ],
)
async def test_a_value_that_makes_no_sense_is_damaged_data(path: Path, harm: str) -> None:
    await make(path)
    async with open_database(sqlite_url(path)) as database:
        await run(database, harm)
        with pytest.raises(DamagedData, match=r"bookwise\.db"):
            await database.read(lambda connection: connection.execute(select(books)).all())


async def test_a_full_disk_is_said_to_be_full_and_reading_goes_on(path: Path) -> None:
    async with open_database(sqlite_url(path)) as database:
        await add_fact(database, "before")

        def fill(connection: Connection) -> None:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
            connection.execute(text(f"PRAGMA max_page_count = {pages}"))
            connection.execute(text("INSERT INTO facts (key, value) VALUES (:key, 1)"), {"key": "x" * 200_000})

        with pytest.raises(DiskFull, match="disk is full"):
            await database.write(fill)
        assert await ask(database, "SELECT count(*) FROM facts") == 1


async def test_a_missing_folder_makes_the_store_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="absent") as caught:
        async with open_database(sqlite_url(tmp_path / "absent" / "b.db")):
            pass
    assert "folder" in caught.value.advice


async def test_a_lock_held_by_another_program_makes_the_store_unavailable(path: Path) -> None:
    async with open_database(sqlite_url(path), timeouts=SHORT_TIMEOUTS) as database:
        await add_fact(database, "before")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked") as caught:
                await add_fact(database, "during")
            assert str(path) in caught.value.message
            assert caught.value.advice
            assert await ask(database, "SELECT count(*) FROM facts") == 1
            other.execute("ROLLBACK")
        await add_fact(database, "after")
        assert await ask(database, "SELECT count(*) FROM facts") == 2


async def test_a_lock_that_is_released_in_time_only_delays(path: Path) -> None:
    async with open_database(sqlite_url(path)) as database:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(add_fact, database, "late")
                await anyio.sleep(0.2)
                other.execute("ROLLBACK")
        assert await ask(database, "SELECT count(*) FROM facts") == 1


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
async def test_opening_a_new_file_that_another_program_locks_is_refused_in_time(path: Path, lock: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        with pytest.raises(StoreUnavailable, match="locked"):
            async with open_database(sqlite_url(path), timeouts=SHORT_TIMEOUTS):
                pass


async def test_asking_for_more_connections_than_there_are_is_refused_in_time(postgres: Any) -> None:
    errors: list[StoreUnavailable] = []

    async def ask_slowly(database: Database) -> None:
        try:
            await ask(database, "SELECT pg_sleep(1.5)")
        except StoreUnavailable as error:
            errors.append(error)

    with postgres.new_database() as url:
        async with open_database(url, timeouts=DatabaseTimeouts(pool=0.3)) as database:
            async with anyio.create_task_group() as tasks:
                for _ in range(12):
                    tasks.start_soon(ask_slowly, database)
            assert ["connections" in error.message for error in errors] == [True, True]
            assert await ask(database, "SELECT 1") == 1


async def test_more_readers_than_connections_to_a_file_wait_for_each_other(path: Path) -> None:
    async with open_database(sqlite_url(path)) as database, anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(ask, database, f"SELECT {number}")


async def test_a_mistake_in_a_statement_is_not_mistaken_for_an_outage(database: Database) -> None:
    with pytest.raises(DBAPIError):
        await ask(database, "SELEKT 1")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/books",
        "postgresql://ann:hunter2@host.invalid/books",
        "postgresql://127.0.0.1:1/books?user=ann&password=hunter2",
    ],
)
async def test_a_server_that_is_away_is_named_without_the_password(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="PostgreSQL books at") as caught:
        async with open_database(url, timeouts=SHORT_TIMEOUTS):
            pass
    assert caught.value.advice
    assert "hunter2" not in "".join(format_exception(caught.value))


async def test_a_wrong_name_or_option_is_the_operators_to_repair(postgres: Any) -> None:
    with postgres.new_database() as url:
        for wrong in (
            url.replace("/test_", "/absent_"),
            url.replace("postgres:@", "nobody:hunter2@"),
            f"{url}&sslmode=perhaps",
            f"{url}&no_such_setting=1",
        ):
            with pytest.raises(Misconfigured, match="rejected the connection") as caught:
                async with open_database(wrong):
                    pass
            assert "hunter2" not in caught.value.message


async def test_a_postgres_that_drops_its_connections_is_reached_again(postgres: Any) -> None:
    with postgres.new_database() as url:
        async with open_database(url) as database:
            await add_fact(database, "before")
            postgres.server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test_%';")
            assert await ask(database, "SELECT count(*) FROM facts") == 1


async def test_a_postgres_that_dies_in_a_transaction_makes_the_store_unavailable(postgres: Any) -> None:
    with postgres.new_database() as url:
        async with open_database(url) as database:
            with pytest.raises(StoreUnavailable):
                await ask(database, "SELECT pg_terminate_backend(pg_backend_pid())")
            await add_fact(database, "afterwards")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_after_a_restart_of_the_server_the_next_call_works(mode: str) -> None:
    with running_postgres() as server, server.new_database() as url:
        async with open_database(url) as database:
            async with anyio.create_task_group() as tasks:
                for number in range(5):  # several connections are in the pool
                    tasks.start_soon(add_fact, database, f"before {number}")
            server.stop(mode)
            with pytest.raises(StoreUnavailable, match="unreachable"):
                await ask(database, "SELECT count(*) FROM facts")
            server.start()
            assert await ask(database, "SELECT count(*) FROM facts") == 5
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(add_fact, database, f"after {number}")
            server.stop(mode)
            server.start()  # no one noticed that it was away
            await add_fact(database, "at once")
            assert await ask(database, "SELECT count(*) FROM facts") == 11


async def test_a_statement_costs_one_round_trip(postgres: Any) -> None:
    """Nothing asks first whether a connection works, and no statement is prepared."""
    committed = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    with postgres.new_database() as url:
        async with open_database(url) as database:
            before = await ask(database, committed)
            for _ in range(100):
                await ask(database, "SELECT 1")
            await ask(database, "SELECT pg_stat_force_next_flush()")
            after = await ask(database, committed)
            assert await ask(database, "SELECT count(*) FROM pg_prepared_statements") == 0
    assert 100 <= after - before < 130


async def in_a_read(database: Database) -> None:
    await ask(database, "SELECT pg_sleep(20)")


async def in_a_write(database: Database) -> None:
    await run(database, "DO 'BEGIN PERFORM pg_sleep(20); END'")


@pytest.mark.parametrize("statement", [in_a_read, in_a_write])
async def test_a_statement_that_takes_too_long_makes_the_store_unavailable(postgres: Any, statement: Any) -> None:
    with postgres.new_database() as url:
        async with open_database(url, timeouts=SHORT_TIMEOUTS) as database:
            with pytest.raises(StoreUnavailable, match="did not respond in time") as caught:
                await statement(database)
            assert "later" in caught.value.advice
            assert await ask(database, "SELECT 1") == 1
            running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND state = 'active'"
            assert await ask(database, f"{running} AND pid <> pg_backend_pid()") == 0, "it was cancelled in the server"


async def test_a_postgres_that_stalls_is_given_up_after_a_while(postgres: Any) -> None:
    with postgres.new_database() as url:
        stalled = 0
        try:
            with anyio.fail_after(15):
                async with open_database(url, timeouts=SHORT_TIMEOUTS) as database:
                    stalled = await ask(database, "SELECT pg_backend_pid()")
                    os.kill(stalled, signal.SIGSTOP)
                    with pytest.raises(StoreUnavailable):
                        await ask(database, "SELECT 1")
        finally:
            if stalled:
                os.kill(stalled, signal.SIGCONT)
