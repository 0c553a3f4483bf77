"""Every database Bookwise runs on, as fixtures: a test that asks for one runs once on each."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.database import Database, open_database
from tests.support.postgres import Postgres, running_postgres

BACKENDS = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server of this test process, started when the first test asks for it."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "bookwise.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.empty_database() as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open database of the newest version."""
    async with open_database(database_url) as opened:
        yield opened
