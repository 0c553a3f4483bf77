"""A database is copied to the other kind row by row, resumes after an interruption, and never overwrites other data."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from shutil import copyfile
from urllib.parse import urlsplit

import anyio
import pytest

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.copy_tables import CopyScope, compare_tables, copy_tables, count_rows
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import Conflict, CopyMismatch
from tests.support.databases import BACKENDS, POOLED, ask, new_migrated_url, run
from tests.support.full_database import BOOKS, FILLED_TABLES, all_rows, fill
from tests.support.postgres import Postgres

pytestmark = pytest.mark.anyio

EVERYTHING = CopyScope()


class Interrupted(BaseException):
    """The process ends here."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwise.adapters.sql.copy_tables.PAGE_ROWS", 3)


@pytest.fixture(scope="module")
def filled_sqlite(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with rows, to copy: filling one for each test would take most of their time."""
    path = Path(copyfile(migrated_sqlite, tmp_path_factory.mktemp("filled") / "bookwise.db"))
    anyio.run(fill_database, sqlite_url(path))
    return path


@pytest.fixture(scope="module")
def filled_postgres(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    """The name of a PostgreSQL database with rows, to copy."""
    with postgres.new_database(like=migrated_postgres) as url:
        anyio.run(fill_database, url)
        yield urlsplit(url).path.strip("/")


async def fill_database(url: str) -> None:
    async with open_database(url) as database:
        await fill(database)


@pytest.fixture(params=(*BACKENDS, POOLED))
def filled_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield from new_migrated_url(request, tmp_path, like="filled")


@pytest.fixture
async def database(filled_url: str) -> AsyncIterator[Database]:
    """The source of the copies."""
    async with open_database(filled_url) as opened:
        yield opened


@pytest.fixture
def other_url(filled_url: str, tmp_path: Path, postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    """The URL of an empty database of the other kind."""
    if not filled_url.startswith("sqlite"):
        yield sqlite_url(tmp_path / "other.db")
        return
    with postgres.empty_database(like=migrated_postgres) as url:
        yield url


@pytest.fixture
async def other(other_url: str) -> AsyncIterator[Database]:
    async with open_database(other_url) as opened:
        yield opened


def stop_after(rows: int) -> Callable[[int], None]:
    """Ends the process when so many rows are done."""
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if done >= rows:
            raise Interrupted

    return report


async def copied(source: Database, target: Database, scope: CopyScope = EVERYTHING) -> int:
    """The number of rows that were written."""
    return sum((await copy_tables(source, target, scope, lambda count: None)).values())


async def test_there_and_back_again_every_row_is_the_same(database: Database, other: Database, tmp_path: Path) -> None:
    before = await all_rows(database)
    assert all(before[name] for name in FILLED_TABLES), "a table without rows proves nothing"
    assert await copied(database, other) == sum(map(len, before.values()))
    assert await all_rows(other) == before
    async with open_database(sqlite_url(tmp_path / "back.db")) as back:
        await copied(other, back)
        assert await all_rows(back) == before
    assert await all_rows(database) == before


async def test_a_copy_continues_the_numbers_of_its_source(database: Database, other: Database) -> None:
    await copied(database, other)
    job = await SqlJobs(other).open("new", "full", "/new")
    assert job.job_id == len(BOOKS) + 1


async def test_a_second_copy_writes_nothing(database: Database, other: Database) -> None:
    assert await copied(database, other) > 0
    assert await copied(database, other) == 0


async def test_a_copy_that_was_interrupted_anywhere_shows_no_book_and_continues(
    database: Database, other: Database
) -> None:
    total = await count_rows(database, EVERYTHING)
    for rows in range(3, total, 9):
        with pytest.raises(Interrupted):
            await copy_tables(database, other, EVERYTHING, stop_after(rows))
        if await ask(other, "SELECT count(*) FROM facts WHERE key LIKE 'copy%'"):
            assert await ask(other, "SELECT count(*) FROM books") == 0
    assert await copied(database, other) < total, "the work of the interrupted copies was kept"
    assert await all_rows(other) == await all_rows(database)


async def test_what_changed_in_the_source_after_an_interruption_is_copied_and_removed(
    database: Database, other: Database
) -> None:
    with pytest.raises(Interrupted):
        await copy_tables(database, other, EVERYTHING, stop_after(await count_rows(database, EVERYTHING) - 20))
    assert await ask(other, "SELECT count(*) FROM conversation_threads") > 0
    threads = SqlThreads(database)
    removed, changed, *_ = await threads.threads()
    await threads.remove(removed.id)
    await threads.summarise(changed.id, "loops")
    await copied(database, other)
    assert await all_rows(other) == await all_rows(database)


async def test_other_data_in_the_target_is_never_overwritten(database: Database, other: Database) -> None:
    await run(other, "INSERT INTO facts (key, value) VALUES ('mine', 1)")
    before = await all_rows(other)
    with pytest.raises(Conflict, match="is not empty"):
        await copied(database, other)
    assert await all_rows(other) == before


async def test_a_target_that_was_used_after_the_copy_is_not_overwritten(database: Database, other: Database) -> None:
    await copied(database, other)
    await run(other, "UPDATE conversation_threads SET topic_summary = 'newer'")
    with pytest.raises(Conflict, match="is not empty"):
        await copied(database, other)
    assert await ask(other, "SELECT count(*) FROM conversation_threads WHERE topic_summary = 'newer'") == len(BOOKS)


async def test_a_copy_of_another_database_is_not_continued(database: Database, other: Database, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        await copy_tables(database, other, EVERYTHING, stop_after(1))
    async with open_database(sqlite_url(tmp_path / "third.db")) as third:
        await fill(third)
        with pytest.raises(Conflict, match="of another database"):
            await copied(third, other)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE embeddings SET vector = text_hash::bytea",
        "UPDATE archived_messages SET message = '{}' WHERE position = 0",
        "DELETE FROM job_outcomes WHERE outcome_id = 1",
        "UPDATE api_keys SET name = 'other'",
    ],
)
async def test_a_changed_copy_is_detected(database: Database, other: Database, change: str) -> None:
    await copied(database, other)
    await compare_tables(database, other, EVERYTHING, lambda count: None)
    await run(other, change.replace("::bytea", "") if other.address.kind == "sqlite" else change)
    with pytest.raises(CopyMismatch, match="differs from"):
        await compare_tables(database, other, EVERYTHING, lambda count: None)


async def test_one_book_is_copied_without_the_others(database: Database, other: Database) -> None:
    whole = await all_rows(database)
    await copied(database, other, CopyScope(book_id="arms"))
    await copied(database, other, CopyScope(book_id="Zebra"))
    rows = await all_rows(other)
    assert [row["id"] for row in rows["books"]] == ["Zebra", "arms"]
    assert rows["lessons"] == [row for row in whole["lessons"] if row["book_id"] in ("arms", "Zebra")]
    assert {row["book_id"] for row in rows["conversation_threads"]} == {"arms", "Zebra"}
    assert len(rows["archived_messages"]) == len(whole["archived_messages"]) // 2
    assert len(rows["asked_questions"]) == len(rows["validation_runs"]) == 2
    assert rows["jobs"] == rows["api_keys"] == rows["embeddings"] == rows["facts"] == []
    assert await copied(database, other, CopyScope(book_id="arms")) == 0
