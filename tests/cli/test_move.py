"""`move`: the same answers from the other place, an untouched source, and refusals that say what to do."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.ingestion.copy_book import IndexedBooks
from bookwise.settings import Settings
from bookwise.wiring import database_url, open_app
from bookwise.wiring.move import open_index_move
from bookwise.wiring.stores import open_stores
from tests.support.apps import write_book
from tests.support.command_line import CommandLine
from tests.support.databases import migrated_postgres, postgres
from tests.support.postgres import Postgres
from tests.support.qdrant_process import qdrant_process
from tests.support.small_books import ASKS_SERVICE, ASKS_TOPIC, LESSONS

__all__ = ["migrated_postgres", "postgres"]

QUESTIONS = (ASKS_TOPIC, ASKS_SERVICE, "a unit of computation", "records to a file")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with qdrant_process() as url:
        yield url


@pytest.fixture
def library(bookwise: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A data folder with one book, and a collection that only this test uses."""
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", f"t-{tmp_path.name}"[:60].rstrip("-_"))
    write_book(tmp_path / "robots", LESSONS)
    assert bookwise("ingest", str(tmp_path / "robots")) == 0
    return bookwise


@pytest.fixture
def new_postgres(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.empty_database(like=migrated_postgres) as url:
        yield url


def results(bookwise: CommandLine) -> list[Any]:
    """What a reader finds: places and texts exactly, scores to the fifth digit."""
    found = []
    for question in QUESTIONS:
        for hit in bookwise.json("search", question)["results"]:
            found.append(
                {
                    name: pytest.approx(value, abs=1e-5) if isinstance(value, float) else value
                    for name, value in hit.items()
                }
            )
    assert len(found) > len(QUESTIONS)
    return found


def problem(bookwise: CommandLine) -> dict[str, str]:
    error: dict[str, str] = json.loads(bookwise.err.splitlines()[-1])["error"]
    return error


def change_copy(data: Path, server: str, **changes: object) -> None:
    """Changes one stored chunk on the server."""

    async def change() -> None:
        settings = Settings(data_dir=data, embedder="hashing", qdrant_url=server, **_collection())  # type: ignore[arg-type]
        async with open_index_move(settings, to_server=True, url=None) as ends:
            await _restage(ends.target, **changes)

    anyio.run(change)


def _collection() -> dict[str, str]:
    return {"qdrant_collection_name": os.environ["QDRANT_COLLECTION_NAME"]}


async def _restage(books: IndexedBooks, **changes: object) -> None:
    revision, *_ = await books.index.revisions("robots")
    embedded, *_ = await books.index.export("robots", [revision])
    vector = changes.pop("vector", embedded.vector)
    chunk = replace(embedded.chunk, **changes)  # type: ignore[arg-type]
    await books.index.stage([replace(embedded, chunk=chunk, vector=vector)])  # type: ignore[arg-type]


def test_an_index_on_a_server_and_back_in_a_folder_gives_the_same_results(
    library: CommandLine, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, books = results(library), library.json("books")
    report = library.json("move", "--to", "qdrant", "--url", server)
    assert [(copy["book_id"], copy["chunks"], copy["written"]) for copy in report["books"]] == [("robots", 6, 6)]
    assert "QDRANT_URL" in report["to_do"][0]
    assert results(library) == before, "the source still serves"
    assert library.json("books") == books
    monkeypatch.setenv("QDRANT_URL", server)
    assert results(library) == before
    assert library.json("doctor")["healthy"]
    shutil.rmtree(library.data / "index")
    assert library("move", "--to", "embedded") == 0
    assert "Unset QDRANT_URL" in library.out
    monkeypatch.delenv("QDRANT_URL")
    assert results(library) == before
    assert library.json("doctor")["healthy"]


def test_a_second_move_writes_nothing_and_compares_everything(library: CommandLine, server: str) -> None:
    first = library.json("move", "--to", "qdrant", "--url", server)
    second = library.json("move", "--to", "qdrant", "--url", server)
    assert [copy["written"] for copy in second["books"]] == [0]
    assert [copy["digest"] for copy in second["books"]] == [copy["digest"] for copy in first["books"]]


def test_one_of_two_books_is_moved(library: CommandLine, tmp_path: Path, server: str) -> None:
    assert library("ingest", str(tmp_path / "robots"), "--book", "copy") == 0
    report = library.json("move", "--to", "qdrant", "--url", server, "--book", "copy")
    assert [copy["book_id"] for copy in report["books"]] == ["copy"]
    everything = library.json("move", "--to", "qdrant", "--url", server)
    assert {copy["book_id"]: copy["written"] for copy in everything["books"]} == {"copy": 0, "robots": 6}


@pytest.mark.parametrize(
    "changes", [{"text": "Tampered."}, {"vector": tuple([1.0] + [0.0] * 63)}], ids=["text", "vector"]
)
def test_a_changed_copy_is_detected_and_replaced_on_request(
    library: CommandLine, server: str, changes: dict[str, Any]
) -> None:
    assert library("move", "--to", "qdrant", "--url", server) == 0
    change_copy(library.data, server, **changes)
    assert library("move", "--to", "qdrant", "--url", server, "--json") == 4
    assert problem(library)["code"] == "copy-mismatch"
    assert library.json("move", "--to", "qdrant", "--url", server, "--replace")["books"][0]["written"] == 6
    assert library.json("move", "--to", "qdrant", "--url", server)["books"][0]["written"] == 0


def test_other_data_of_the_book_in_the_target_is_kept_unless_it_is_to_be_replaced(
    library: CommandLine, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library("move", "--to", "qdrant", "--url", server) == 0
    write_book(tmp_path / "robots", {"topics.md": "# Topics\n\nA topic has a new definition today.\n"})
    assert library("ingest", str(tmp_path / "robots")) == 0
    assert library("move", "--to", "qdrant", "--url", server) == 4
    assert "--replace" in library.err
    report = library.json("move", "--to", "qdrant", "--url", server, "--replace")
    assert report["books"][0]["written"] == 1
    monkeypatch.setenv("QDRANT_URL", server)
    assert library.json("doctor")["healthy"], "nothing of the old lesson is left"
    assert "new definition" in str(results(library))


def test_a_database_on_a_server_and_back_in_a_file_is_the_same(
    library: CommandLine, new_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> list[Any]:
        return [results(library), library.json("books"), library.json("jobs"), library.json("keys", "list")]

    library("keys", "create", "website")
    before = shown()
    report = library.json("move", "--to", "postgres", "--url", new_postgres)
    assert {table["name"]: table["rows"] for table in report["tables"]}["lessons"] == len(LESSONS)
    assert "DATABASE_URL" in report["to_do"][0]
    (library.data / "bookwise.db").rename(library.data / "old.db")
    monkeypatch.setenv("DATABASE_URL", new_postgres)
    assert shown() == before
    assert library("move", "--to", "sqlite") == 0
    assert "Unset DATABASE_URL" in library.out
    monkeypatch.delenv("DATABASE_URL")
    assert shown() == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--to", "qdrant"], 2, "QDRANT_URL"),
        (["--to", "postgres"], 2, "DATABASE_URL"),
        (["--to", "postgres", "--url", "sqlite:///other.db"], 2, "PostgreSQL"),
        (["--to", "elsewhere"], 2, "qdrant, embedded, postgres, sqlite"),
        (["--to", "sqlite", "--replace"], 2, "--replace"),
        (["--to", "qdrant", "--url", "nowhere:6333"], 6, "QDRANT_URL"),
        (["--to", "qdrant", "--book", "absent"], 3, "absent"),
        ([], 2, "--to"),
    ],
)
def test_a_move_that_cannot_be_done_says_why(
    library: CommandLine, server: str, arguments: list[str], code: int, words: str
) -> None:
    if "absent" in arguments:
        arguments = [*arguments, "--url", server]
    assert library("move", *arguments) == code
    assert words in library.err


def test_a_move_refuses_a_data_folder_in_use(library: CommandLine, server: str) -> None:
    with lock_data_folder(library.data):
        assert library("move", "--to", "qdrant", "--url", server) == 4
        assert "Stop that process" in library.err
        assert library("move", "--to", "postgres", "--url", "postgresql://nowhere/x") == 4


def test_a_move_does_not_create_its_source(bookwise: CommandLine, server: str) -> None:
    assert bookwise("move", "--to", "qdrant", "--url", server) == 3
    assert bookwise("move", "--to", "postgres", "--url", "postgresql://nowhere/x") == 3
    assert [path.name for path in bookwise.data.iterdir()] == ["lock"]


@pytest.mark.anyio
async def test_a_book_of_another_embedder_or_with_an_open_job_is_refused(
    library: CommandLine, server: str, new_postgres: str
) -> None:
    settings = Settings(data_dir=library.data, embedder="hashing", **_collection())  # type: ignore[arg-type]
    async with open_stores(database_url(settings)) as stores:
        job = await stores.jobs("an index that another process writes to").open("robots", "full", "/robots")
    assert await anyio.to_thread.run_sync(library, "move", "--to", "qdrant", "--url", server) == 4
    assert f"Job {job.job_id} of the book 'robots' is queued" in library.err
    to_postgres = ("move", "--to", "postgres", "--url", new_postgres)
    assert await anyio.to_thread.run_sync(library, *to_postgres) == 4
    assert f"Job {job.job_id} of the book 'robots' is queued" in library.err
    async with open_stores(database_url(settings)) as stores:
        await stores.jobs().fail(job.job_id, "stopped")
    async with open_app(settings) as app:
        book = await app.catalog.book("robots")
        await app.catalog.register(replace(book, id="foreign", embedder="other:1", embedder_name="other"))
    assert await anyio.to_thread.run_sync(library, "move", "--to", "qdrant", "--url", server, "--json") == 4
    assert problem(library)["code"] == "embedder-mismatch"
