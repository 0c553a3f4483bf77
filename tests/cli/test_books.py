"""`books` and `jobs`: what they list, also beside another process, and how a book is removed."""

from pathlib import Path

import anyio
import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.command_line import CommandLine
from tests.support.gated_embedder import GatedEmbedder
from tests.support.program import PROGRAM
from tests.support.serve_process import serving
from tests.support.terminals import on_terminal

LESSONS = {
    "topics.md": "# Topics\n\nA topic carries messages from many publishers to many subscribers without waiting.\n",
    "services.md": "# Services\n\nA service answers one request with exactly one response, and the caller waits.\n",
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_book(tmp_path / "robots", LESSONS)


def test_books_and_jobs_are_listed_while_another_process_has_the_data_folder(bookwise: CommandLine, book: Path) -> None:
    (book / "code.md").write_text("# Code\n\nRun it:\n\n{{#include missing.rs}}\n")
    bookwise("ingest", str(book))
    listed, done = bookwise.json("books"), bookwise.json("jobs")
    with lock_data_folder(bookwise.data):
        assert bookwise.json("books") == listed
        assert bookwise.json("jobs") == done
        assert bookwise.json("jobs", "1")["job"]["status"] == "completed"
        assert bookwise("books") == bookwise("jobs") == bookwise("jobs", "1") == 0
        assert "Note: code.md: 1 include was left out." in bookwise.out


@pytest.mark.anyio
async def test_a_job_that_another_process_runs_is_listed_as_running(bookwise: CommandLine, book: Path) -> None:
    embedder = GatedEmbedder()
    embedder.is_open = False
    async with (
        open_app(Settings(data_dir=bookwise.data), embedder=embedder) as app,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ingested, app, book)
        while not embedder.calls:  # noqa: ASYNC110 - the state of the embedder
            await anyio.sleep(0.01)
        for _ in range(2):  # listing a job does not change it
            (job,) = (await anyio.to_thread.run_sync(bookwise.json, "jobs"))["jobs"]
            assert (job["status"], job["error_message"], job["completed_at"]) == ("running", None, None)
        assert (await anyio.to_thread.run_sync(bookwise.json, "books"))["books"] == []  # until a lesson is published
        embedder.let_pass(100)
    (job,) = (await anyio.to_thread.run_sync(bookwise.json, "jobs"))["jobs"]
    assert job["status"] == "completed"


@pytest.mark.anyio
async def test_a_job_whose_process_is_gone_is_listed_as_failed(bookwise: CommandLine, book: Path) -> None:
    async with open_app(Settings(data_dir=bookwise.data, embedder="hashing")) as app:
        await app.jobs.open("book", "full", str(book))
    (job,) = (await anyio.to_thread.run_sync(bookwise.json, "jobs"))["jobs"]
    assert job["status"] == "failed"
    assert "Interrupted" in job["error_message"]


def test_books_are_listed_whichever_embedder_and_collection_are_set(
    bookwise: CommandLine, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookwise("ingest", str(book))
    listed = bookwise.json("books")
    assert listed["books"][0]["state"]["total_chunks"] == 2
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "openai")
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "another")
    assert bookwise.json("books") == listed


def test_a_data_folder_that_another_process_is_still_creating_is_busy(bookwise: CommandLine) -> None:
    with lock_data_folder(bookwise.data):
        assert bookwise("books") == 4
    assert "is in use by" in bookwise.err


def test_a_removed_book_is_gone_and_its_files_and_jobs_are_not(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    bookwise("ingest", str(book), "--book", "copy")
    assert bookwise("books", "remove", "robots", "--yes") == 0
    assert "2 lessons, 2 chunks" in bookwise.out
    assert [listed["id"] for listed in bookwise.json("books")["books"]] == ["copy"]
    assert bookwise("search", "one request", "--book", "robots") == 3
    assert bookwise("search", "one request", "--book", "copy") == 0
    assert {job["book_id"] for job in bookwise.json("jobs")["jobs"]} == {"robots", "copy"}
    assert bookwise("ingest", str(book)) == 0
    assert "2 lessons published" in bookwise.out


def test_a_removal_reports_in_json(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    removed = bookwise.json("books", "remove", "robots", "--yes")
    assert removed == {"removed": {"book_id": "robots", "title": "Robots", "lessons": 2, "chunks": 2}}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [(["robots"], 2, "--yes"), (["absent", "--yes"], 3, "absent"), ([], 2, "ID")],
    ids=["no terminal to ask on", "no such book", "no id"],
)
def test_a_removal_that_cannot_be_done_says_why(
    bookwise: CommandLine, book: Path, arguments: list[str], code: int, message: str
) -> None:
    bookwise("ingest", str(book))
    assert bookwise("books", "remove", *arguments) == code
    assert message in bookwise.err
    assert len(bookwise.json("books")["books"]) == 1


@pytest.mark.slow
def test_on_a_terminal_a_removal_asks_first(bookwise: CommandLine, book: Path) -> None:
    bookwise("ingest", str(book))
    env = {"BOOKWISE_DATA_DIR": str(bookwise.data), "BOOKWISE_EMBEDDER": "hashing"}
    for reply, code, left in (("n", 1, 1), ("y", 0, 0)):
        with on_terminal(PROGRAM, "books", "remove", "robots", env=env) as terminal:
            terminal.await_text("Remove Robots (robots) with 2 lessons?")
            terminal.type(f"{reply}\n")
            assert terminal.exit_code() == code
        assert len(bookwise.json("books")["books"]) == left


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_book_is_removed_from_a_running_service(bookwise: CommandLine, book: Path) -> None:
    await anyio.to_thread.run_sync(bookwise, "ingest", str(book))
    async with serving(bookwise.data, BOOKWISE_EMBEDDER="hashing"):
        assert await anyio.to_thread.run_sync(bookwise, "books", "remove", "robots", "--yes") == 0, bookwise.err
        assert await anyio.to_thread.run_sync(bookwise, "books", "remove", "robots", "--yes") == 3
        assert await anyio.to_thread.run_sync(bookwise, "search", "one request", "--book", "robots") == 3
