"""SIGKILL in the middle of a move: the source serves on, the target shows all or nothing, the next run completes it."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.database import open_database
from bookwise.domain.errors import IndexUnavailable
from bookwise.ingestion.doctor import examine
from bookwise.operations.move import MoveTarget
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.apps import found, ingested, write_book
from tests.support.databases import ask, migrated_postgres, postgres
from tests.support.full_database import BOOKS, Rows, all_rows, fill
from tests.support.move_child import move_database_in_child, move_index_in_child, settings
from tests.support.postgres import Postgres
from tests.support.processes import child
from tests.support.qdrant_process import qdrant_process

__all__ = ["migrated_postgres", "postgres"]

pytestmark = pytest.mark.slow

STEPS = ["index.stage:after:1", "index.export:before:3", "catalog.activate:before:1", "catalog.activate:after:1"]
LESSONS = {
    f"lesson-{number:02}.md": f"# Lesson {number}\n\n"
    + "\n\n".join(f"## Part {part}\n\nJoint {number} has fact {part}. {'It turns. ' * 30}" for part in range(3))
    for number in range(8)
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with qdrant_process() as url:
        yield url


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a book."""

    async def ingest() -> None:
        async with open_app(settings(tmp_path / "data")) as app:
            await ingested(app, write_book(tmp_path / "book", LESSONS))

    anyio.run(ingest)
    return tmp_path / "data"


async def seen(opened: Settings) -> list[tuple[str, float]]:
    """What a reader finds, with a check that every live lesson is whole. A reader of no lesson gets a clear error."""
    async with open_app(opened) as app:
        if not await app.catalog.records("book"):
            with pytest.raises(IndexUnavailable, match="has no lessons in this index"):
                await found(app, "What is fact 2 of joint 3?")
            return []
        findings = await examine("book", index=app.index, catalog=app.catalog)
        assert [finding.message for finding in findings if finding.kind == "incomplete-lesson"] == []
        result = await found(app, "What is fact 2 of joint 3?", limit=20)
        return [(hit.chunk.id, round(hit.score, 5)) for hit in result.hits]


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_move_of_an_index_is_completed_by_the_next(data: Path, server: str, step: str) -> None:
    here, there = settings(data), replace(settings(data), qdrant_url=server)
    before = anyio.run(seen, here)
    assert len(before) > 10
    with child(move_index_in_child, data, server, step) as process:
        code, lines = process.ended()
    assert code == -signal.SIGKILL, lines
    assert anyio.run(seen, here) == before
    assert anyio.run(seen, there) == (before if step == "catalog.activate:after:1" else [])
    with child(move_index_in_child, data, server) as process:
        assert process.ended()[0] == 0
    assert anyio.run(seen, there) == anyio.run(seen, here) == before


@pytest.mark.parametrize("direction", ["postgres", "sqlite"])
def test_a_killed_move_of_a_database_is_completed_by_the_next(
    tmp_path: Path, postgres: Postgres, migrated_postgres: str, direction: MoveTarget
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    local = sqlite_url(data / "bookwise.db")
    with postgres.new_database(like=migrated_postgres) as remote:
        source, target = (local, remote) if direction == "postgres" else (remote, local)
        anyio.run(filled, source)
        before = anyio.run(rows_of, source)
        total = 2 * sum(map(len, before.values()))
        for share in (0.1, 0.25, 0.4, 0.6):
            with child(move_database_in_child, data, direction, remote, int(total * share)) as process:
                code, lines = process.ended()
            assert code == -signal.SIGKILL, lines
            books = anyio.run(count_books, target)
            assert books == (0 if share < 0.5 else len(BOOKS)), "all books or none"
            assert anyio.run(rows_of, source) == before
        with child(move_database_in_child, data, direction, remote) as process:
            code, lines = process.ended()
        assert code == 0, lines
        assert anyio.run(rows_of, target) == before


async def filled(url: str) -> None:
    async with open_database(url) as database:
        await fill(database)


async def rows_of(url: str) -> Rows:
    async with open_database(url) as database:
        return await all_rows(database)


async def count_books(url: str) -> int:
    async with open_database(url) as database:
        return int(await ask(database, "SELECT count(*) FROM books"))
