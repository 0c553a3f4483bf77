"""Opening a shard: read-ahead, memory and older shards."""

import os
from pathlib import Path

import pytest
import qdrant_edge as qdrant

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.qdrant.shard import load_shard
from bookwise.domain.search import Filter
from tests.support.builders import chunks, embedded

pytestmark = pytest.mark.anyio

NORTH = (0.0, 1.0)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system has no posix_fadvise")
async def test_an_index_is_opened_whether_or_not_the_system_reads_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptors: list[int] = []

    def refuse(descriptor: int, *_: int) -> None:
        descriptors.append(descriptor)
        raise OSError("not supported")

    async with open_index(tmp_path / "index", size=2) as index:
        await index.stage(embedded(chunks("loops", "r1", "A topic."), NORTH))
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    async with open_index(tmp_path / "index", size=2) as index:
        assert len(await index.nearest(NORTH, "topic", within=Filter(book_id="book"), limit=5)) == 1
    assert descriptors


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="this system does not list mapped files")
async def test_the_empty_parts_of_its_files_take_no_memory(tmp_path: Path) -> None:
    async with open_index(tmp_path / "index", size=384) as index:
        await index.stage(embedded(chunks("loops", "r1", "A topic."), (1.0,) + (0.0,) * 383))
    async with open_index(tmp_path / "index", size=384):
        assert 0 < resident_megabytes(tmp_path) < 60  # 190 when every file is read to its end


def resident_megabytes(folder: Path) -> float:
    """What the mapped files below a folder take of this process's memory."""
    kilobytes, below = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            below = str(folder) in line
        elif below and name == "Rss:":
            kilobytes += int(values[0])
    return kilobytes / 1024


async def test_an_older_shard_keeps_its_chunks_and_loses_the_indexes_that_nothing_uses(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    async with open_index(folder, size=2) as index:
        await index.stage(embedded(chunks("loops", "r1", "A topic."), NORTH))
    (shard,) = folder.glob("books/*")
    engine = qdrant.EdgeShard.load(str(shard), None)
    engine.update(qdrant.UpdateOperation.create_field_index("text", qdrant.PayloadSchemaType.Text))
    engine.close()
    async with open_index(folder, size=2) as index:
        assert len(await index.nearest(NORTH, "topic", within=Filter(book_id="book"), limit=5)) == 1
    engine = load_shard(shard).engine
    assert "text" not in engine.info().payload_schema
    engine.close()
