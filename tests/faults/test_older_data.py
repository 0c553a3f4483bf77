"""An index that is older or newer than its database, and files that something else has changed."""

import shutil
from pathlib import Path

import pytest

from bookwise.domain.errors import IndexUnavailable
from bookwise.domain.search import Filter, SearchQuery
from bookwise.ingestion.doctor import examine
from bookwise.operations.doctor import DiagnoseBooks
from bookwise.retrieval.search import search
from bookwise.settings import Settings
from bookwise.wiring import open_search
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.copies import copy_folder

pytestmark = pytest.mark.anyio

OLD = {"topics.md": "# Topics\n\nA topic carries messages from many publishers.\n"}
NEW = {
    "topics.md": "# Topics\n\nA topic carries messages to many subscribers.\n",
    "services.md": "# Services\n\nA service answers one request with exactly one response.\n",
}


@pytest.fixture
async def versions(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The book, and the data folder before and after an edit of it."""
    root = write_book(tmp_path / "b", OLD)
    async with hashing_app(tmp_path / "new") as app:
        await ingested(app, root)
    copy_folder(tmp_path / "new", tmp_path / "old")
    write_book(root, NEW)
    async with hashing_app(tmp_path / "new") as app:
        await ingested(app, root)
    return root, tmp_path / "old", tmp_path / "new"


@pytest.mark.parametrize("restored", ["index", "bookwise.db"])
async def test_an_older_index_or_database_is_noticed_and_the_next_ingest_completes_it(
    versions: tuple[Path, Path, Path], restored: str
) -> None:
    root, old, new = versions
    shutil.rmtree(new / restored) if restored == "index" else (new / restored).unlink()
    (old / restored).rename(new / restored)
    async with open_search(Settings(data_dir=new, embedder="hashing")) as kit:
        with pytest.raises(IndexUnavailable, match="chunks of book 'book' are missing"):
            await search(SearchQuery(text="topic", filter=Filter(book_id="book")), kit)
    async with hashing_app(new) as app:
        with pytest.raises(IndexUnavailable, match="does not match the catalog") as caught:
            await found(app, "topic")
        assert "doctor --repair" in caught.value.advice
        job = await ingested(app, root)
        assert job.files_processed == 2
        assert len((await found(app, "topic or service")).hits) == 2
        assert await examine("book", index=app.index, catalog=app.catalog) == []


async def test_doctor_repairs_an_older_index(versions: tuple[Path, Path, Path]) -> None:
    _, old, new = versions
    shutil.rmtree(new / "index")
    (old / "index").rename(new / "index")
    async with hashing_app(new) as app:
        report = await DiagnoseBooks(repair=True).run(app)
        assert [finding.kind for finding in report.books[0].findings] == [
            "incomplete-lesson",
            "incomplete-lesson",
            "orphan-chunks",
        ]
        assert (await DiagnoseBooks(repair=False).run(app)).books[0].healthy
        assert len((await found(app, "topic or service")).hits) == 2


async def test_one_missing_chunk_is_not_unchanged(tmp_path: Path) -> None:
    root = write_book(tmp_path / "b", NEW)
    async with hashing_app(tmp_path / "data") as app:
        await ingested(app, root)
        lost = (await app.catalog.records("book"))[0]
        await app.index.remove("book", [lost.revision])
        job = await ingested(app, root)
        assert (job.files_processed, job.files_skipped) == (1, 1)
        assert len((await found(app, "topic or service")).hits) == 2
