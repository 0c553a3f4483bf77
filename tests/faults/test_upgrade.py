"""Data folders that earlier releases have written: this one opens them, and nothing in them is lost."""

import sqlite3
import zipfile
from pathlib import Path

import pytest

from bookwise.adapters.sql.revisions import HEAD, HISTORY
from bookwise.domain.errors import Misconfigured
from bookwise.operations.backup import restore
from bookwise.operations.export import export
from bookwise.settings import Settings
from bookwise.wiring import open_records
from tests.support.apps import found, hashing_app, ingested, write_book

pytestmark = pytest.mark.anyio

FOLDERS = Path(__file__).parents[1] / "data_folders"
TOPIC = "A topic carries messages from many publishers to many subscribers without waiting."
ASKED = "What carries messages from many publishers?"
EDITED = "# Services\n\nA service answers one request, and the caller waits.\n"


def ignore(done: int, total: int) -> None:
    pass


def test_every_table_version_has_a_data_folder() -> None:
    assert tuple(path.stem for path in sorted(FOLDERS.glob("*.zip"))) == HISTORY


@pytest.mark.parametrize("version", HISTORY)
async def test_a_folder_of_an_earlier_release_keeps_its_book_threads_and_keys(version: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", embedder="hashing")
    assert (await restore(FOLDERS / f"{version}.zip", settings, ignore)).verified
    with sqlite3.connect(settings.data_dir / "bookwise.db") as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (HEAD,)
    threads = [thread async for thread in export("threads", settings)]
    assert [thread["messages"][0]["content"] for thread in threads] == [ASKED] * (version >= "0002")
    assert [TOPIC in thread["messages"][1]["content"] for thread in threads] == [True] * (version >= "0002")
    async with open_records(settings) as records:
        assert [key.name for key in await records.keys.keys()] == ["reader"] * (version >= "0003")
    root = write_book(tmp_path / "book", {"services.md": EDITED})
    async with hashing_app(settings.data_dir) as app:
        hits = (await found(app, ASKED, book_id="robots")).hits
        assert TOPIC in hits[0].chunk.text
        await ingested(app, root, book_id="robots")  # the old release's lessons can be replaced
        assert {record.source_file for record in await app.catalog.records("robots")} == {"services.md"}


async def test_a_folder_of_a_newer_release_is_refused_and_not_changed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with zipfile.ZipFile(FOLDERS / f"{HEAD}.zip") as archive:
        archive.extract("bookwise.db", data)
    with sqlite3.connect(data / "bookwise.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    before = (data / "bookwise.db").read_bytes()
    with pytest.raises(Misconfigured, match="table version 9999") as caught:
        async with open_records(Settings(data_dir=data, embedder="hashing")):
            pass
    assert "newer version" in caught.value.advice
    assert (data / "bookwise.db").read_bytes() == before
