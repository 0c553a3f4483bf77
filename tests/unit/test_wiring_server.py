"""An app whose index is on a Qdrant server: where its data is, who may use it, and how it moves to a new embedder."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.domain.errors import CollectionMismatch, DataFolderBusy
from bookwise.operations.books import ListBooks
from bookwise.operations.doctor import DiagnoseBooks
from bookwise.settings import Settings
from bookwise.wiring import App, local_copy, open_app, open_catalog, open_search
from tests.support.apps import found, ingested, write_book
from tests.support.databases import postgres
from tests.support.http_service import http_service
from tests.support.postgres import Postgres
from tests.support.qdrant_loopback import LoopbackServer, qdrant_loopback
from tests.support.scripted_http import Request, routed
from tests.support.small_sites import site

__all__ = ["postgres"]

pytestmark = pytest.mark.anyio

LESSONS = {
    "loops.md": "# Loops\n\nA while loop repeats as long as its condition is true.\n",
    "lists.md": "# Lists\n\nA list keeps its items in order.\n",
}
KEY = "a-secret-key"


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with qdrant_loopback(api_key=KEY) as server:
        yield server


@pytest.fixture
def beside_sqlite(server: LoopbackServer, tmp_path: Path) -> Settings:
    """The index on a server, the database in the data folder."""
    return settings(server, tmp_path)


@pytest.fixture
def without_folder(server: LoopbackServer, postgres: Postgres, tmp_path: Path) -> Iterator[Settings]:
    """Everything on servers."""
    with postgres.new_database() as url:
        yield settings(server, tmp_path, database_url=SecretStr(url), cache_dir=tmp_path / "cache")


def settings(server: LoopbackServer, folder: Path, **more: Any) -> Settings:
    return Settings(
        data_dir=folder / "data", embedder="hashing", qdrant_url=server.url, qdrant_api_key=SecretStr(KEY), **more
    )


@asynccontextmanager
async def with_book(options: Settings, folder: Path, **more: Any) -> AsyncIterator[App]:
    async with open_app(options, **more) as app:
        await ingested(app, write_book(folder / "book", LESSONS))
        yield app


def aliases(server: LoopbackServer) -> dict[str, str]:
    request = Request(method="GET", target="/aliases", headers={"api-key": KEY}, body=b"")
    reply: Any = server.loopback(request).json
    return {alias["alias_name"]: alias["collection_name"] for alias in reply["result"]["aliases"]}


async def test_the_index_is_on_the_server_and_the_folder_stays_locked(beside_sqlite: Settings, tmp_path: Path) -> None:
    async with with_book(beside_sqlite, tmp_path) as app:
        assert (await found(app, "while loop")).hits
        with pytest.raises(DataFolderBusy):
            async with open_app(beside_sqlite):
                pass
    assert sorted(os.listdir(beside_sqlite.data_dir)) == ["bookwise.db", "lock", "seal.json"]
    async with open_search(beside_sqlite) as kit:
        assert (await kit.catalog.live("book")).revisions


async def test_with_postgresql_too_there_is_no_folder_and_several_processes_may_run(
    without_folder: Settings, tmp_path: Path
) -> None:
    async with with_book(without_folder, tmp_path) as writer, open_app(without_folder) as reader:
        assert (await found(reader, "while loop")).hits
        (tmp_path / "book" / "tuples.md").write_text("# Tuples\n\nA tuple never changes its length.\n")
        await ingested(writer, tmp_path / "book")
        assert "tuple" in (await found(reader, "length of a tuple")).hits[0].chunk.text
        async with open_catalog(without_folder) as kit:
            (summary,) = await ListBooks().run(kit)
    assert (summary.collection, len(summary.records)) == ("textbook_chunks-hashing-64-1", 3)
    assert not without_folder.data_dir.exists()


async def test_a_job_of_another_process_goes_on_when_a_process_starts(without_folder: Settings, tmp_path: Path) -> None:
    async with open_app(without_folder) as app:
        job = await app.jobs.open("book", "full", str(tmp_path))
        await app.jobs.start(job.job_id)
        async with open_app(without_folder):
            assert (await app.jobs.job(job.job_id)).status == "running"


async def test_a_mirror_of_a_site_is_kept_in_the_cache_folder(without_folder: Settings, tmp_path: Path) -> None:
    async with routed(site("loops", "lists")) as book:
        copy = await local_copy(book.url, replace(without_folder, site_allow_private=True))
    assert copy.root.is_relative_to(tmp_path / "cache")
    assert not without_folder.data_dir.exists()


async def test_a_new_embedder_gets_its_own_collection_and_the_alias_switches_when_it_is_complete(
    server: LoopbackServer, without_folder: Settings, tmp_path: Path
) -> None:
    """Readers with the old embedder are served until the last book has moved; none sees vectors of two embedders."""
    old, new = "textbook_chunks-hashing-64-1", "textbook_chunks-hashing-32-1"
    async with (
        with_book(without_folder, tmp_path) as reader,
        open_app(without_folder, embedder=HashingEmbedder(32)) as writer,
    ):
        await ingested(reader, tmp_path / "book", book_id="second")
        assert aliases(server) == {"textbook_chunks": old}
        await ingested(writer, tmp_path / "book", mode="recreate")
        assert aliases(server) == {"textbook_chunks": old}, "one book is still served from the old collection"
        assert (await found(reader, "while loop", book_id="second")).hits
        assert (await found(writer, "while loop")).hits
        await ingested(writer, tmp_path / "book", book_id="second", mode="recreate")
        assert aliases(server) == {"textbook_chunks": new}


async def test_a_book_of_another_collection_is_named(beside_sqlite: Settings, tmp_path: Path) -> None:
    async with with_book(beside_sqlite, tmp_path):
        pass
    async with open_app(replace(beside_sqlite, qdrant_collection_name="other")) as app:
        with pytest.raises(CollectionMismatch, match="ingested into collection 'textbook_chunks'"):
            await found(app, "while loop")


async def test_doctor_compares_the_catalog_with_the_server(beside_sqlite: Settings, tmp_path: Path) -> None:
    async with with_book(beside_sqlite, tmp_path) as app:
        (healthy,) = (await DiagnoseBooks(repair=False).run(app)).books
        assert healthy.healthy
        revision = next(iter(await app.index.revisions("book")))
        await app.index.remove("book", [revision])
        (broken,) = (await DiagnoseBooks(repair=True).run(app)).books
        assert [finding.kind for finding in broken.findings] == ["incomplete-lesson"]
        (repaired,) = (await DiagnoseBooks(repair=False).run(app)).books
        assert repaired.healthy


async def test_health_and_info_show_the_kind_of_index_and_no_secret(beside_sqlite: Settings) -> None:
    async with http_service(beside_sqlite) as opened:
        health, info = await opened.client.get("/health"), await opened.client.get("/info")
    assert health.json()["dependencies"]["index"]["kind"] == "qdrant-server"
    assert info.json()["index"] == {"kind": "qdrant-server", "collection": "textbook_chunks"}
    assert KEY not in health.text + info.text


async def test_a_service_whose_server_is_gone_is_not_ready(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(qdrant_loopback())
        options = Settings(
            data_dir=tmp_path / "data", embedder="hashing", qdrant_url=server.url, qdrant_timeout_seconds=0.5
        )
        async with http_service(options) as opened:
            await stack.aclose()
            health = await opened.client.get("/health")
    assert health.status_code == 503
    assert health.json()["dependencies"]["index"]["code"] == "index-unavailable"
