"""The folder of an index: a shard for each book, opened when it is used. Earlier releases had one for all books."""

import shutil
from pathlib import Path

import pytest

from bookwise.adapters.qdrant import embedded as embedded_index
from bookwise.adapters.qdrant.collections import BOOK_FILE, IDENTITY_FILE
from bookwise.adapters.qdrant.embedded import EmbeddedIndex, open_index
from bookwise.domain.errors import DamagedData, IndexUnavailable
from bookwise.domain.search import Filter
from tests.support.builders import chunks, embedded
from tests.support.old_index import OLD_ID, write_shared_shard

pytestmark = pytest.mark.anyio

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)
BOOKS = ("arms", "legs", "eyes")


async def fill(index: EmbeddedIndex, *books: str) -> None:
    for book in books:
        await index.stage(embedded(chunks("lesson", "r1", f"Of {book}.", book_id=book), EAST))


async def count(index: EmbeddedIndex, book: str) -> int:
    return len(await index.nearest(EAST, book, within=Filter(book_id=book), limit=5))


def found(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def shards(folder: Path) -> list[str]:
    """The names of the shards without their digests."""
    return [path.name.rpartition("-")[0] for path in found(folder, "books/*")]


def mapped_books(folder: Path) -> set[str]:
    """The books whose files this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = [line.partition(f"{folder}/books/")[2] for line in lines]
    return {path.partition("/")[0].rpartition("-")[0] for path in paths if path}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list mapped files")
async def test_a_book_is_opened_when_it_is_first_used(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, *BOOKS)
    assert mapped_books(folder) == set()
    async with open_index(folder, size=2) as index:
        assert mapped_books(folder) == set()
        assert await count(index, "legs") == 1
        assert await count(index, "absent") == 0
        assert mapped_books(folder) == {"legs"}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list mapped files")
async def test_an_only_book_is_opened_with_the_index(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, "arms")
    async with open_index(folder, size=2):
        assert mapped_books(folder) == {"arms"}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list mapped files")
async def test_the_book_that_was_used_least_recently_is_closed_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_index, "OPEN_BOOKS_MAX", 2)
    async with open_index(folder, size=2) as index:
        await fill(index, *BOOKS)
        assert mapped_books(folder) == {"legs", "eyes"}
        assert await count(index, "legs") == 1
        assert await count(index, "arms") == 1
        assert mapped_books(folder) == {"legs", "arms"}
        assert [await count(index, book) for book in BOOKS] == [1, 1, 1]


async def test_one_call_can_stage_chunks_of_several_books(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        both = [embedded(chunks("lesson", "r1", "Text.", book_id=book), EAST)[0] for book in ("arms", "legs")]
        await index.stage(both)
        assert (await index.revisions("arms"), await index.revisions("legs")) == ({"r1": 1}, {"r1": 1})


@pytest.mark.parametrize("book", ["../../outside", "/etc", "..", "a/b", "x" * 300, "книга"])
async def test_no_id_of_a_book_leads_out_of_the_folder(folder: Path, book: str) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, book)
        assert await count(index, book) == 1
    assert len(found(folder, f"books/*/{BOOK_FILE}")) == 1
    assert found(folder.parent, "*") == [folder]


async def test_the_files_of_a_book_without_chunks_are_removed(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, "arms", "legs")
        await index.remove("arms", ["r1"])
    assert shards(folder) == ["legs"]
    async with open_index(folder, size=2) as index:
        assert (await count(index, "arms"), await count(index, "legs")) == (0, 1)
        await fill(index, "arms")
        assert await count(index, "arms") == 1


async def test_what_is_left_of_an_interrupted_creation_or_removal_is_removed(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, "arms", "legs")
    (arms,) = found(folder, "books/arms-*")
    (arms / BOOK_FILE).unlink()
    async with open_index(folder, size=2) as index:
        assert shards(folder) == ["legs"]
        assert (await count(index, "arms"), await count(index, "legs")) == (0, 1)


async def test_a_damaged_book_stops_no_other_book(folder: Path) -> None:
    async with open_index(folder, size=2) as index:
        await fill(index, *BOOKS)
    (legs,) = found(folder, "books/legs-*")
    (legs / "edge_config.json").write_text("garbage")
    async with open_index(folder, size=2) as index:
        assert (await count(index, "arms"), await count(index, "eyes")) == (1, 1)
        with pytest.raises(DamagedData, match="cannot be opened") as caught:
            await count(index, "legs")
        assert f"Delete {legs} and run" in caught.value.advice
        assert (await index.damaged_books()).keys() == {legs}


async def test_an_identity_that_cannot_be_read_is_damage(folder: Path) -> None:
    async with open_index(folder, size=2):
        pass
    (folder / IDENTITY_FILE).write_text("{}")
    with pytest.raises(DamagedData, match="cannot be opened") as caught:
        async with open_index(folder, size=2):
            pass
    assert f"Delete {folder}" in caught.value.advice


async def test_a_check_notices_that_the_folder_was_removed_or_replaced(folder: Path, tmp_path: Path) -> None:
    async with open_index(tmp_path / "other", size=2):
        pass
    async with open_index(folder, size=2) as index:
        await index.check()
        shutil.move(folder, tmp_path / "gone")
        with pytest.raises(IndexUnavailable, match="removed or replaced"):
            await index.check()
        shutil.move(tmp_path / "other", folder)
        with pytest.raises(IndexUnavailable, match="removed or replaced"):
            await index.check()


async def test_the_books_of_an_earlier_release_get_a_shard_each(folder: Path) -> None:
    staged = {
        book: embedded(chunks("lesson", "r1", f"Of {book}.", "Of robots.", book_id=book), EAST, NORTH) for book in BOOKS
    }
    write_shared_shard(folder, [chunk for book in BOOKS for chunk in staged[book]])
    async with open_index(folder, size=2) as index:
        assert index.id == OLD_ID
        for book in BOOKS:
            assert await index.verify(book) == {"r1": 2}
            exported = await index.export(book, ["r1"])
            assert [(e.chunk.id, e.vector) for e in exported] == [(e.chunk.id, e.vector) for e in staged[book]]
            hits = await index.nearest(NORTH, "robots", within=Filter(book_id=book), limit=1)
            assert [chunk.text for chunk in await index.read(book, [hit.ref for hit in hits]) if chunk] == [
                staged[book][1].chunk.text
            ]
    assert [path.name for path in found(folder, "*")] == ["books", IDENTITY_FILE]
