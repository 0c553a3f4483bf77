"""Every database Bookwise runs on, as fixtures: a test that asks for one runs once on each."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from shutil import copyfile
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import pytest
from sqlalchemy import Connection, text

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.database import Database, open_database
from tests.support.pgbouncer import PgBouncer, running_pgbouncer
from tests.support.postgres import Postgres, running_postgres
from tests.support.processes import Report

T = TypeVar("T")

BACKENDS = ("sqlite", "postgres")
POOLED = pytest.param("pgbouncer", marks=pytest.mark.slow)


_SERVER = pytest.StashKey[Postgres]()
_POOLER = pytest.StashKey[PgBouncer]()
_MIGRATED = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> Postgres:
    """The one PostgreSQL server of this test process, started when the first test asks for it.

    A fixture that several conftest files import exists once in each, so the server is kept elsewhere.
    """
    if _SERVER not in pytestconfig.stash:
        pytestconfig.stash[_SERVER] = _until_the_end(pytestconfig, running_postgres())
    return pytestconfig.stash[_SERVER]


@pytest.fixture(scope="session")
def pgbouncer(pytestconfig: pytest.Config, postgres: Postgres) -> PgBouncer:
    """The pooler in front of that server."""
    if _POOLER not in pytestconfig.stash:
        pytestconfig.stash[_POOLER] = _until_the_end(pytestconfig, running_pgbouncer(postgres))
    return pytestconfig.stash[_POOLER]


def _until_the_end(pytestconfig: pytest.Config, resource: AbstractContextManager[T]) -> T:
    stack = ExitStack()
    opened = stack.enter_context(resource)
    pytestconfig.add_cleanup(stack.close)
    return opened


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "bookwise.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.new_database() as url:
        yield url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file to copy: migrating one for each test would take most of the tests' time."""
    path = tmp_path_factory.mktemp("migrated") / "bookwise.db"
    anyio.run(_open_and_close, sqlite_url(path))
    return path


@pytest.fixture(scope="session")
def migrated_postgres(pytestconfig: pytest.Config, postgres: Postgres) -> str:
    """The name of a PostgreSQL database to copy."""
    if _MIGRATED not in pytestconfig.stash:
        url = _until_the_end(pytestconfig, postgres.new_database())
        anyio.run(_open_and_close, url)
        pytestconfig.stash[_MIGRATED] = urlsplit(url).path.strip("/")
    return pytestconfig.stash[_MIGRATED]


@pytest.fixture(params=BACKENDS)
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database of the newest version without content."""
    yield from new_migrated_url(request, tmp_path)


@pytest.fixture(name="migrated_url", params=(*BACKENDS, POOLED))
def migrated_url_or_pooler(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The same, and once more through a pooler."""
    yield from new_migrated_url(request, tmp_path)


def new_migrated_url(request: pytest.FixtureRequest, tmp_path: Path, *, like: str = "migrated") -> Iterator[str]:
    """The URL of a copy of the database that the fixture `{like}_sqlite` or `{like}_postgres` names."""
    if request.param == "sqlite":
        copyfile(request.getfixturevalue(f"{like}_sqlite"), tmp_path / "bookwise.db")
        yield sqlite_url(tmp_path / "bookwise.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    copy = server.empty_database if like == "migrated" else server.new_database
    with copy(like=request.getfixturevalue(f"{like}_postgres")) as url:
        yield request.getfixturevalue("pgbouncer").url(url) if request.param == "pgbouncer" else url


@pytest.fixture
async def database(migrated_url: str) -> AsyncIterator[Database]:
    """An open database of the newest version."""
    async with open_database(migrated_url) as opened:
        yield opened


async def ask(database: Database, query: str) -> Any:
    """The first value a query finds."""
    return await database.read(lambda connection: connection.execute(text(query)).scalar())


async def run(database: Database, statement: str, **values: object) -> None:
    """Runs a statement in a transaction of its own."""

    def work(connection: Connection) -> None:
        connection.execute(text(statement), values)

    await database.write(work)


async def add_fact(database: Database, key: str) -> None:
    """Writes one small row."""
    await run(database, "INSERT INTO facts (key, value) VALUES (:key, 1)", key=key)


def open_in_child(report: Report, url: str) -> None:
    """What a child process runs: opens the database and closes it again."""
    anyio.run(_open_and_close, url)
    report("opened")


async def _open_and_close(url: str) -> None:
    async with open_database(url):
        pass
