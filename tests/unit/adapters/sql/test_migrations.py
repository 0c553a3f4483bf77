"""Migrating a database to the newest version, exactly once, even with concurrent attempts."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from mako.template import Template
from sqlalchemy import Connection

from bookwise.adapters.sql.address import parse_address, sqlite_url
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts, make_runner
from bookwise.adapters.sql.migrate import ADVISORY_LOCK, script_config
from bookwise.adapters.sql.new_database import SCRIPT, migrated_script, script
from bookwise.adapters.sql.tables import POSTGRES_ONLY, metadata
from bookwise.adapters.sql.version_check import HEAD, HISTORY, stored_version
from bookwise.domain.errors import Misconfigured
from tests.support.databases import add_fact, ask, open_in_child, run
from tests.support.processes import child

pytestmark = pytest.mark.anyio

ROUTINES = ("bookwise_admit_request", "bookwise_open_stream", "bookwise_maintain_limits", "bookwise_key_changed")
FIRST_TABLES = ("job_outcomes", "jobs", "lessons", "books", "facts")
LATER_TABLES = (
    "validation_runs",
    "job_lessons",
    "job_steps",
    "job_plans",
    "webhook_deliveries",
    "kept_responses",
    "asked_questions",
    "api_keys",
    "archived_messages",
    "conversation_threads",
)


def test_the_known_versions_are_those_of_the_migration_scripts() -> None:
    scripts = ScriptDirectory.from_config(script_config())
    assert scripts.get_heads() == [HEAD]
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == HISTORY


def is_in_metadata(name: str | None, kind: str, parents: Any) -> bool:
    return kind != "table" or name not in POSTGRES_ONLY


async def test_the_migrations_make_exactly_the_tables_the_program_uses(database: Database) -> None:
    def differences(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": True, "include_name": is_in_metadata}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    assert await database.read(differences) == []


async def test_a_new_sqlite_file_is_what_the_migrations_would_make(tmp_path: Path) -> None:
    expected = migrated_script()
    assert await anyio.Path(SCRIPT).read_text() == expected, "run `python -m bookwise.adapters.sql.new_database`"
    async with open_database(sqlite_url(tmp_path / "bookwise.db")) as database:
        assert await database.read(script) == expected


def test_a_new_migration_script_can_be_made_from_the_template() -> None:
    template = Path(ScriptDirectory.from_config(script_config()).dir) / "script.py.mako"
    script = Template(filename=str(template)).render(
        message="More tables",
        imports="",
        up_revision="0002",
        down_revision="0001",
        branch_labels=None,
        depends_on=None,
        upgrades="",
    )
    namespace: dict[str, Any] = {}
    exec(compile(script, "0002.py", "exec"), namespace)
    assert (namespace["revision"], namespace["down_revision"]) == ("0002", "0001")


async def test_opening_again_changes_nothing(database_url: str) -> None:
    async with open_database(database_url) as database:
        await add_fact(database, "kept")
    async with open_database(database_url) as database:
        assert await ask(database, "SELECT value FROM facts WHERE key = 'kept'") == 1
        assert await database.read(stored_version) == HEAD


async def test_a_database_of_a_newer_program_is_refused_and_left_alone(database_url: str) -> None:
    async with open_database(database_url) as database:
        await run(database, "UPDATE alembic_version SET version_num = '9999'")
    for _ in range(2):
        with pytest.raises(Misconfigured, match=f"9999.*{HEAD}"):
            async with open_database(database_url):
                pass


async def test_refusing_a_newer_sqlite_file_writes_not_a_byte(tmp_path: Path) -> None:
    path = tmp_path / "bookwise.db"
    async with open_database(sqlite_url(path)):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    before = await anyio.Path(path).read_bytes()
    with pytest.raises(Misconfigured, match="9999"):
        async with open_database(sqlite_url(path)):
            pass
    assert await anyio.Path(path).read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


async def test_a_database_that_another_program_uses_is_refused(database_url: str) -> None:
    async with open_database(database_url) as database:
        await run(database, "DROP TABLE alembic_version")
    with pytest.raises(Misconfigured, match="another program"):
        async with open_database(database_url):
            pass


async def test_a_migration_that_breaks_off_leaves_nothing_behind(database_url: str) -> None:
    async with open_database(database_url) as database:
        for table in (*LATER_TABLES, *FIRST_TABLES, "alembic_version"):
            await run(database, f"DROP TABLE {table}")
        if database.address.kind == "postgresql":
            await run(database, f"DROP TABLE {', '.join(POSTGRES_ONLY)}")
            await run(database, f"DROP ROUTINE {', '.join(ROUTINES)}")
    with pytest.raises(Misconfigured, match="another program"):  # `embeddings` is in the way
        async with open_database(database_url):
            pass
    await drop_embeddings_by_hand(database_url)
    async with open_database(database_url) as database:
        assert await ask(database, "SELECT count(*) FROM books") == 0


async def drop_embeddings_by_hand(url: str) -> None:
    address = parse_address(url)
    runner = make_runner(address, DatabaseTimeouts())
    await run(Database(runner, address), "DROP TABLE embeddings")
    await runner.close()


async def test_twenty_tasks_can_open_an_empty_database_at_once(database_url: str) -> None:
    async def open_and_write(number: int) -> None:
        async with open_database(database_url) as database:
            await add_fact(database, f"task {number}")

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(open_and_write, number)
    async with open_database(database_url) as database:
        assert await ask(database, "SELECT count(*) FROM facts") == 20
        assert await ask(database, "SELECT count(*) FROM alembic_version") == 1


@pytest.mark.slow
async def test_twenty_processes_can_open_an_empty_database_at_once(database_url: str) -> None:
    with ExitStack() as running:
        children = [running.enter_context(child(open_in_child, database_url)) for _ in range(20)]
        assert [one.ended() for one in children] == [(0, ["opened"])] * 20
    async with open_database(database_url) as database:
        assert await ask(database, "SELECT count(*) FROM alembic_version") == 1


async def test_two_databases_can_be_migrated_at_once_in_one_process(tmp_path: Path) -> None:
    async def open_one(number: int) -> None:
        async with open_database(sqlite_url(tmp_path / f"{number}.db")) as database:
            assert await ask(database, "SELECT count(*) FROM books") == 0

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(open_one, number)


async def test_a_process_that_finds_another_one_migrating_waits_for_it(postgres: Any) -> None:
    with postgres.new_database() as url:
        opened = anyio.Event()

        async def open_it() -> None:
            async with open_database(url) as database:
                assert await ask(database, "SELECT count(*) FROM books") == 0
                opened.set()

        other = await psycopg.AsyncConnection.connect(url)
        async with anyio.create_task_group() as tasks, other.transaction():
            await other.execute(str(ADVISORY_LOCK))
            tasks.start_soon(open_it)
            with anyio.move_on_after(0.7):
                await opened.wait()
            assert not opened.is_set()
        await other.close()
        assert opened.is_set()


async def test_a_new_file_that_is_locked_for_a_moment_is_opened_a_moment_later(tmp_path: Path) -> None:
    path = tmp_path / "bookwise.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_and_close, sqlite_url(path))
            await anyio.sleep(0.5)
            other.execute("ROLLBACK")


async def open_and_close(url: str) -> None:
    async with open_database(url) as database:
        assert await ask(database, "PRAGMA journal_mode") == "wal"
