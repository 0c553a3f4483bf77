"""What the port `CatalogReader` promises, checked for the catalog and for the SQLite reader."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.catalog_reader import SqliteCatalogReader
from bookwise.adapters.sql.database import open_database
from bookwise.domain.books import Book, Calibration, Module
from bookwise.domain.errors import NotFound
from bookwise.ports import Catalog, CatalogReader
from tests.support.builders import chunks, record

pytestmark = pytest.mark.anyio

ROBOTS = Book(
    id="book",
    title="Robots – 日本語",
    base_url="https://robots.example/",
    source="/books/robots",
    modules=(Module(name="ros2", title="ROS 2", aliases=("ros",)), Module(name="vla")),
    embedder="minilm:1",
    embedder_name="MiniLM",
    embedder_size=384,
    calibration=Calibration(knots=((0.0, 0.0), (1.0, 1.0))),
)


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_database(sqlite_url(tmp_path / "bookwise.db")) as database:
        yield SqlCatalog(database, index_id="i", exclusive=True)


@pytest.fixture(params=["catalog", "sqlite-reader"])
def reader(request: pytest.FixtureRequest, catalog: Catalog, tmp_path: Path) -> CatalogReader:
    return catalog if request.param == "catalog" else SqliteCatalogReader(tmp_path / "bookwise.db", index_id="i")


async def test_books_come_back_as_they_were_registered(reader: CatalogReader, catalog: Catalog) -> None:
    other = replace(ROBOTS, id="another", calibration=None, modules=())
    await catalog.register(ROBOTS)
    await catalog.register(other)
    assert await reader.books() == [other, ROBOTS]
    assert await reader.book("book") == ROBOTS


async def test_an_absent_book_is_not_found_by_name(reader: CatalogReader) -> None:
    with pytest.raises(NotFound, match="'ghost'"):
        await reader.book("ghost")
    assert (await reader.live("ghost")).revisions == frozenset()


async def test_what_is_live_is_what_was_activated_in_this_index(
    reader: CatalogReader, catalog: Catalog, tmp_path: Path
) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops", "r1", chunks("loops", "r1", "A loop repeats its body."))])
    assert (await reader.live("book")).revisions == {"r1"}
    elsewhere = SqliteCatalogReader(tmp_path / "bookwise.db", index_id="lost")
    assert (await elsewhere.live("book")).revisions == frozenset()


async def test_the_book_of_a_chunk_is_found_in_this_index_only(
    reader: CatalogReader, catalog: Catalog, tmp_path: Path
) -> None:
    (chunk,) = chunks("loops", "r1", "A loop repeats its body.")
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops", "r1", (chunk,))])
    assert await reader.books_with_chunk(chunk.id) == ["book"]
    assert await reader.books_with_chunk(chunk.id[:-1]) == []
    assert await SqliteCatalogReader(tmp_path / "bookwise.db", index_id="lost").books_with_chunk(chunk.id) == []
    async with open_database(sqlite_url(tmp_path / "bookwise.db")) as database:
        assert await SqlCatalog(database, index_id="lost", exclusive=True).books_with_chunk(chunk.id) == []


async def test_the_sqlite_reader_is_not_used_for_absent_or_damaged_files(tmp_path: Path, catalog: Catalog) -> None:
    assert SqliteCatalogReader(tmp_path / "bookwise.db", index_id="i").is_current
    assert not SqliteCatalogReader(tmp_path / "absent.db", index_id="i").is_current
    (tmp_path / "damaged.db").write_bytes(b"not a database at all" * 100)
    assert not SqliteCatalogReader(tmp_path / "damaged.db", index_id="i").is_current
