"""`backup` and `restore`: the same answers from the restored folder, and refusals that say what to do."""

import itertools
import json
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from bookwise.operations.backup import back_up, restore
from bookwise.operations.doctor import DiagnoseBooks
from bookwise.settings import Settings
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.command_line import CommandLine
from tests.support.small_books import ASKS_SERVICE, ASKS_TOPIC, LESSONS

QUESTIONS = (ASKS_TOPIC, ASKS_SERVICE, "a unit of computation", "records to a file")


@pytest.fixture
def library(bookwise: CommandLine, tmp_path: Path) -> CommandLine:
    """A data folder with a book and a key."""
    write_book(tmp_path / "robots", LESSONS)
    assert bookwise("ingest", str(tmp_path / "robots")) == 0
    assert bookwise("keys", "create", "a reader") == 0
    return bookwise


def answers(bookwise: CommandLine) -> list[Any]:
    """What a reader gets, without the time it took."""
    found = [bookwise.json("search", question)["results"] for question in QUESTIONS]
    asked = [bookwise.json("ask", question) for question in QUESTIONS]
    return [found, [(answer["outcome"], answer["answer"], answer["citations"]) for answer in asked]]


def problem(bookwise: CommandLine) -> dict[str, str]:
    error: dict[str, str] = json.loads(bookwise.err.splitlines()[-1])["error"]
    return error


def test_a_restored_folder_gives_the_same_answers(library: CommandLine, tmp_path: Path) -> None:
    before, keys = answers(library), library.json("keys", "list")
    written = library.json("backup", "kept.zip")
    assert [(book["id"], book["lessons"], book["chunks"]) for book in written["books"]] == [("robots", 6, 6)]
    assert stat.S_IMODE((tmp_path / "kept.zip").stat().st_mode) == 0o600
    library.data = tmp_path / "new"
    restored = library.json("restore", "kept.zip")
    assert restored["verified"]
    assert restored["backup"]["books"] == written["books"]
    assert answers(library) == before
    assert library.json("keys", "list") == keys
    assert library.json("doctor")["healthy"]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_backup_and_a_restore_replace_nothing(library: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "kept.zip").write_text("mine")
    assert library("backup", "kept.zip", "--json") == 4
    assert "exists" in problem(library)["message"]
    assert (tmp_path / "kept.zip").read_text() == "mine"
    assert library("backup", "other.zip") == 0
    assert library("restore", "other.zip", "--json") == 4
    assert "not empty" in problem(library)["message"]
    assert library("backup", "absent/kept.zip", "--json") == 3
    assert library("restore", "absent.zip", "--json") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "kept.zip", "other.zip", "robots"]


def test_a_damaged_backup_is_refused_and_leaves_no_folder(library: CommandLine, tmp_path: Path) -> None:
    assert library("backup", "kept.zip") == 0
    content = bytearray((tmp_path / "kept.zip").read_bytes())
    content[2_000:2_100] = bytes(100)
    (tmp_path / "kept.zip").write_bytes(content)
    library.data = tmp_path / "new"
    assert library("restore", "kept.zip", "--json") == 6
    assert problem(library)["code"] == "damaged-data"
    assert not list(tmp_path.glob("new*"))


def test_an_index_without_a_live_chunk_is_not_restored(library: CommandLine, tmp_path: Path) -> None:
    """The archive is intact, but its catalog and its index do not fit."""

    async def lose() -> None:
        async with hashing_app(library.data) as app:
            book = (await app.catalog.books())[0].id
            record = (await app.catalog.records(book))[0]
            await app.index.remove(book, [record.revision])

    anyio.run(lose)
    assert library("backup", "kept.zip") == 0
    library.data = tmp_path / "new"
    assert library("restore", "kept.zip", "--json") == 6
    assert "incomplete" in problem(library)["message"]
    assert not list(tmp_path.glob("new*"))


def test_the_rest_of_a_killed_restore_is_removed_by_the_next(library: CommandLine, tmp_path: Path) -> None:
    assert library("backup", "kept.zip") == 0
    (tmp_path / "new.restoring").mkdir()
    (tmp_path / "new.restoring" / "bookwise.db").write_text("half")
    library.data = tmp_path / "new"
    assert library("restore", "kept.zip") == 0
    assert library.json("doctor")["healthy"]
    assert not (tmp_path / "new.restoring").exists()


def test_a_backup_without_the_configured_embedder_is_restored_but_not_examined(
    library: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library("backup", "kept.zip") == 0
    library.data = tmp_path / "new"
    with monkeypatch.context() as other:
        other.setenv("BOOKWISE_EMBEDDER", "cohere")
        other.setenv("COHERE_API_KEY", "key")
        assert library.json("restore", "kept.zip")["verified"] is False
    assert library.json("doctor")["healthy"]


@pytest.mark.parametrize(
    ("name", "value"), [("DATABASE_URL", "postgresql://h/b"), ("QDRANT_URL", "http://localhost:1")]
)
def test_data_on_servers_is_left_to_the_tools_of_those_servers(
    library: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    assert library("backup", "kept.zip") == 0
    monkeypatch.setenv(name, value)
    library.data = tmp_path / "new"
    assert library("restore", "kept.zip", "--json") == 6
    assert "docs/operating.md" in problem(library)["advice"]


@pytest.mark.anyio
async def test_a_backup_during_ingests_is_complete(tmp_path: Path) -> None:
    """Lessons are published and removed as fast as possible while the backups are written."""
    root = write_book(tmp_path / "robots", LESSONS)
    async with hashing_app(tmp_path / "data") as app:
        await ingested(app, root)
        ended = anyio.Event()

        async def edit() -> None:
            nonlocal ended
            for edition in itertools.count():
                write_book(root, {name: f"{text}\nEdition {edition}.\n" for name, text in LESSONS.items()})
                await ingested(app, root)
                ended.set()
                ended = anyio.Event()

        async def after_next_ingest() -> None:
            with anyio.fail_after(60):
                await ended.wait()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edit)
            for number in range(3):
                await back_up(tmp_path / f"{number}.zip", app, lambda done, total: None)
                await after_next_ingest()
            tasks.cancel_scope.cancel()
    for number in range(3):
        folder = tmp_path / f"restored-{number}"
        settings = Settings(data_dir=folder, embedder="hashing")
        await restore(tmp_path / f"{number}.zip", settings, lambda done, total: None)
        async with hashing_app(folder) as app:
            assert (await found(app, ASKS_TOPIC)).hits[0].chunk.locator.page_title == "Topics"
            kinds = {f.kind for book in (await DiagnoseBooks(repair=False).run(app)).books for f in book.findings}
            assert kinds <= {"orphan-chunks"}
