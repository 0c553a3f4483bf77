"""The tables of threads: how an older database gets them, and their exact shape on PostgreSQL."""

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, insert, text

from bookwise.adapters.sql.address import parse_address
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.catalog_reader import SqliteCatalogReader
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts, make_runner
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.migrate import script_config
from bookwise.adapters.sql.revisions import HEAD
from bookwise.adapters.sql.rows import lesson_row
from bookwise.adapters.sql.tables import lessons
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.adapters.sql.version_check import stored_version
from tests.support.catalogs import ROBOTS, record
from tests.support.databases import run
from tests.support.postgres import Postgres

pytestmark = pytest.mark.anyio

COLUMNS = """
    SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = :table ORDER BY ordinal_position
"""
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'conversation_threads'"
FOREIGN_KEYS = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'archived_messages'::regclass"
A_THREAD = """
    INSERT INTO conversation_threads (thread_id, messages, book_id, owner)
    VALUES ('550e8400e29b41d4a716446655440000', '[]', 'robots', '')
"""
A_JOB = """
    INSERT INTO jobs (book_id, mode, status, source, holder, queued_at)
    VALUES ('robots', 'full', 'queued', '/srv/robots', '', '2026-01-01T12:00:00.000000+00:00')
"""


async def rows(database: Database, query: str, **values: str) -> list[tuple[Any, ...]]:
    return await database.read(lambda connection: [tuple(row) for row in connection.execute(text(query), values)])


async def fill_first_version(url: str) -> None:
    """A database as the first version of the tables left it, with a book, a lesson and a job."""
    address = parse_address(url)
    runner = make_runner(address, DatabaseTimeouts())
    database = Database(runner, address)

    def first_version(connection: Connection) -> None:
        config = script_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")

    await database.write(first_version)
    catalog = SqlCatalog(database, index_id="i", exclusive=True)
    await catalog.register(ROBOTS)
    lesson = {name: value for name, value in lesson_row(record("loops"), index_id="i").items() if name != "text_hashes"}
    await database.write(lambda connection: connection.execute(insert(lessons).values(lesson)))
    await run(database, A_JOB)
    assert await database.read(stored_version) == "0001"
    await runner.close()


async def test_a_database_of_the_first_version_gets_threads_and_keeps_all_it_held(database_url: str) -> None:
    await fill_first_version(database_url)
    async with open_database(database_url) as database:
        assert await database.read(stored_version) == HEAD
        catalog = SqlCatalog(database, index_id="i", exclusive=True)
        assert await catalog.books() == [ROBOTS]
        assert await catalog.records("robots") == [record("loops")]
        assert [job.source for job in await SqlJobs(database).jobs()] == ["/srv/robots"]
        threads = SqlThreads(database)
        thread = await threads.create(book_id="robots")
        assert await threads.thread(thread.id) == thread


async def test_the_quick_reader_leaves_a_database_of_the_first_version_to_the_migration(tmp_path: Path) -> None:
    path = tmp_path / "bookwise.db"
    await fill_first_version(f"sqlite:///{path}")
    shelf = SqliteCatalogReader(path, index_id="i")
    assert not shelf.is_current
    async with open_database(f"sqlite:///{path}"):
        pass
    assert shelf.is_current
    assert await shelf.books() == [ROBOTS]


async def test_a_row_that_names_only_what_it_must_gets_usable_defaults(database: Database) -> None:
    await run(database, A_THREAD)
    thread = await SqlThreads(database).thread("550e8400-e29b-41d4-a716-446655440000")
    assert thread.created_at == thread.updated_at
    now = await SqlThreads(database).create(book_id="robots")
    assert abs((now.created_at - thread.created_at).total_seconds()) < 60
    assert (thread.metadata, thread.messages, thread.topic_summary, thread.archived) == ({}, (), None, False)


@pytest.fixture
async def on_postgres(postgres: Postgres, migrated_postgres: str) -> Any:
    with postgres.empty_database(like=migrated_postgres) as url:
        async with open_database(url) as database:
            yield database


async def test_on_postgresql_threads_have_the_columns_that_were_promised(on_postgres: Database) -> None:
    moment = "timestamp with time zone"
    assert await rows(on_postgres, COLUMNS, table="conversation_threads") == [
        ("thread_id", "uuid", "NO", None),
        ("messages", "jsonb", "NO", None),
        ("created_at", moment, "NO", "now()"),
        ("updated_at", moment, "NO", "now()"),
        ("topic_summary", "text", "YES", None),
        ("metadata", "jsonb", "YES", "'{}'::jsonb"),
        ("book_id", "text", "NO", None),
        ("owner", "text", "NO", None),
        ("archived_count", "integer", "NO", "0"),
        ("archived_at", moment, "YES", None),
        ("busy_until", moment, "YES", None),
    ]
    assert await rows(on_postgres, COLUMNS, table="archived_messages") == [
        ("thread_id", "uuid", "NO", None),
        ("position", "integer", "NO", None),
        ("message", "jsonb", "NO", None),
    ]


async def test_on_postgresql_threads_have_the_indexes_that_were_promised(on_postgres: Database) -> None:
    on = "ON public.conversation_threads USING btree"
    assert dict(await rows(on_postgres, INDEXES)) == {
        "pk_conversation_threads": f"CREATE UNIQUE INDEX pk_conversation_threads {on} (thread_id)",
        "idx_threads_updated": f"CREATE INDEX idx_threads_updated {on} (updated_at DESC)",
        "idx_threads_created": f"CREATE INDEX idx_threads_created {on} (created_at DESC)",
        "ix_conversation_threads_owner": f"CREATE INDEX ix_conversation_threads_owner {on} (owner, updated_at)",
        "ix_conversation_threads_live": (
            f"CREATE INDEX ix_conversation_threads_live {on} (updated_at) WHERE (archived_at IS NULL)"
        ),
    }
    assert ("FOREIGN KEY (thread_id) REFERENCES conversation_threads(thread_id) ON DELETE CASCADE",) in (
        await rows(on_postgres, FOREIGN_KEYS)
    )
