"""Random damage to the files of a data folder, and what the doctor makes of it."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.storage_faults import run_storage_faults

from bookwise.adapters import seal
from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.adapters.qdrant.collections import BOOK_FILE, IDENTITY_FILE
from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.seal import changed_files, sealed
from bookwise.domain.errors import DamagedData
from bookwise.operations.doctor import DiagnoseBooks, FileCheck, check_files
from bookwise.settings import Settings
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.copies import copy_folder

pytestmark = pytest.mark.anyio

LESSONS = {
    "topics.md": "# Topics\n\nA topic carries messages from many publishers to many subscribers.\n",
    "services.md": "# Services\n\nA service answers one request with exactly one response.\n",
}


def test_random_damage_never_gives_a_wrong_answer_without_a_word() -> None:
    report = run_storage_faults(18, seed=7)
    wrong = [case for case in report.cases if case.verdict in ("silent", "crashed")]
    assert wrong == []
    assert report.count("reported") >= 3, "the damage must strike something that readers see"


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    root = write_book(tmp_path / "b", LESSONS)
    async with hashing_app(tmp_path / "data") as app:
        await ingested(app, root)
    return tmp_path / "data"


def settings(data: Path) -> Settings:
    return Settings(data_dir=data, embedder="hashing")


def file_of(data: Path, pattern: str) -> Path:
    return sorted(data.glob(f"index/*/books/*/segments/*/{pattern}"))[0]


def shard_of(data: Path, book_id: str) -> Path:
    (found,) = data.glob(f"index/*/books/{book_id}-*")
    return found


def change_byte(path: Path, offset: int = 0) -> None:
    """Changes one byte as a failing disk would: without a trace in the file's times."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


async def test_an_untouched_folder_is_healthy_after_every_kind_of_use(data: Path) -> None:
    for _ in range(2):
        assert await check_files(settings(data), repair=False) == FileCheck()
        async with hashing_app(data) as app:
            await found(app, "request")
            assert (await DiagnoseBooks(repair=False).run(app)).healthy


@pytest.mark.parametrize(
    "pattern", ["vector_storage-dense/vectors/chunk_0.mmap", "vector_storage-dense/quantized_data/chunk_0.mmap"]
)
async def test_a_changed_file_of_the_index_is_found_after_other_commands_and_the_index_is_rebuilt(
    data: Path, pattern: str
) -> None:
    change_byte(file_of(data, pattern), 8)
    async with hashing_app(data):
        pass  # closes the folder again, as any command does
    found_before = await check_files(settings(data), repair=False)
    assert [problem.rpartition("/")[2] for problem in found_before.problems] == [
        f"{Path(pattern).name}: changed by something else since Bookwise wrote it"
    ]
    repaired = await check_files(settings(data), repair=True)
    assert "damaged" in repaired.moved[0]
    async with hashing_app(data) as app:
        await DiagnoseBooks(repair=True).run(app)
        assert len((await found(app, "topic or service")).hits) == 2
        assert (await DiagnoseBooks(repair=False).run(app)).healthy
    assert await check_files(settings(data), repair=False) == FileCheck()


async def test_an_index_whose_books_cannot_be_read_again_is_not_moved_away(data: Path, tmp_path: Path) -> None:
    (tmp_path / "b").rename(tmp_path / "elsewhere")
    change_byte(file_of(data, "vector_storage-dense/quantized_data/chunk_0.mmap"), 8)
    repaired = await check_files(settings(data), repair=True)
    assert repaired.problems
    assert not repaired.moved
    async with hashing_app(data) as app:
        assert (await found(app, "request")).hits


async def test_doctor_rebuilds_an_index_that_cannot_be_opened(data: Path) -> None:
    file_of(data, "version.info").write_bytes(b"garbage")
    with pytest.raises(DamagedData):
        async with hashing_app(data):
            pass
    repaired = await check_files(settings(data), repair=True)
    assert any("cannot be opened" in problem for problem in repaired.problems)
    async with hashing_app(data) as app:
        report = await DiagnoseBooks(repair=True).run(app)
        assert report.books[0].to_publish == 2
        assert len((await found(app, "topic or service")).hits) == 2


async def test_the_seal_of_an_earlier_release_holds_until_its_books_have_a_shard_each(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = shard_of(data, "book").parents[1]
    share_shard(index)
    with monkeypatch.context() as earlier:
        earlier.setattr(seal, "_units", units_of_earlier_release)
        with sealed(data):
            pass
    copy = copy_folder(data, data.with_name("copy"))
    change_byte(sorted(copy.glob("index/*/segments/*/vector_storage-dense/vectors/chunk_0.mmap"))[0], 8)
    assert len(changed_files(copy)) == 1
    assert changed_files(data) == []
    async with open_index(index, size=HashingEmbedder().facts.size) as opened:  # as a command that only reads
        assert len(await opened.revisions("book")) == 2
    assert changed_files(data) == []


def share_shard(index: Path) -> None:
    """Turns an index with one book into one of an earlier release, which had a shard for all books."""
    (shard,) = index.glob("books/*")
    (shard / BOOK_FILE).unlink()
    for path in shard.iterdir():
        path.rename(index / path.name)
    shutil.rmtree(index / "books")


def units_of_earlier_release(folder: Path) -> Iterator[seal._SealedUnit]:
    for identity in folder.glob(f"index/*/{IDENTITY_FILE}"):
        yield seal._SealedUnit(
            identity.relative_to(folder).as_posix(),
            [
                path.relative_to(folder).as_posix()
                for path in identity.parent.rglob("*")
                if path.is_file() and path.name not in seal.REWRITTEN
            ],
        )


async def test_doctor_rebuilds_a_damaged_book_and_leaves_the_others(data: Path, tmp_path: Path) -> None:
    root = write_book(tmp_path / "other", {"wheels.md": "# Wheels\n\nA wheel turns around its axle.\n"})
    async with hashing_app(data) as app:
        await ingested(app, root, book_id="other")
    damaged, kept = (shard_of(data, name) for name in ("book", "other"))
    (damaged / "edge_config.json").write_bytes(b"garbage")
    before = (kept / BOOK_FILE).stat().st_mtime_ns
    async with hashing_app(data) as app:
        assert (await found(app, "axle", book_id="other")).hits
        with pytest.raises(DamagedData, match="cannot be opened"):
            await found(app, "request")
    repaired = await check_files(settings(data), repair=True)
    assert [damaged.name in moved for moved in repaired.moved] == [True]
    assert not damaged.exists()
    assert (kept / BOOK_FILE).stat().st_mtime_ns == before
    async with hashing_app(data) as app:
        await DiagnoseBooks(repair=True).run(app)
        assert len((await found(app, "topic or service")).hits) == 2
        assert (await DiagnoseBooks(repair=False).run(app)).healthy
    assert await check_files(settings(data), repair=False) == FileCheck()


async def test_a_changed_database_is_reported_once_it_is_accepted_no_more(data: Path) -> None:
    change_byte(data / "bookwise.db", 40)
    (problem,) = (await check_files(settings(data), repair=True)).problems
    assert problem.startswith("bookwise.db: changed")
    async with hashing_app(data) as app:
        assert (await DiagnoseBooks(repair=False).run(app)).healthy
    assert await check_files(settings(data), repair=False) == FileCheck()


async def test_doctor_reports_what_sqlite_finds_wrong(data: Path) -> None:
    async with hashing_app(data) as app:
        assert await app.check_database() == ()
    with closing(sqlite3.connect(data / "bookwise.db")) as connection, connection:
        connection.execute("INSERT INTO job_outcomes VALUES (1000, 999, 'a.md', 'published', 0, 0, '', '')")
    async with hashing_app(data) as app:
        report = await DiagnoseBooks(repair=False).run(app)
    assert report.storage == ("bookwise.db: rows in job_outcomes refer to nothing",)
    assert not report.healthy
