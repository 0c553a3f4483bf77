"""Opening a shard: read-ahead and damaged files."""

import os
from pathlib import Path

import pytest

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.qdrant.shard import IDENTITY_FILE
from bookwise.domain.errors import DamagedData
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


async def test_a_damaged_index_is_reported_with_the_folder_to_delete(tmp_path: Path) -> None:
    (tmp_path / IDENTITY_FILE).write_text("{}")
    with pytest.raises(DamagedData, match="cannot be opened") as caught:
        async with open_index(tmp_path, size=2):
            pass
    assert f"Delete {tmp_path}" in caught.value.advice
