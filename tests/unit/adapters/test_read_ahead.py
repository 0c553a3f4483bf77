"""Opening an index asks the system for its payloads, and does without where it refuses."""

import os
from pathlib import Path

import pytest

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.domain.search import Filter
from tests.support.builders import chunks, embedded

pytestmark = pytest.mark.anyio

NORTH = (0.0, 1.0)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no such advice")
async def test_an_index_is_opened_whether_or_not_the_system_reads_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def refuse(descriptor: int, *_: int) -> None:
        asked.append(descriptor)
        raise OSError("not here")

    async with open_index(tmp_path / "index", size=2) as index:
        await index.stage(embedded(chunks("loops", "r1", "A topic."), NORTH))
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    async with open_index(tmp_path / "index", size=2) as index:
        assert len(await index.nearest(NORTH, "topic", within=Filter(book_id="book"), limit=5)) == 1
    assert asked
