from pathlib import Path

import pytest

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.adapters.qdrant.embedded import open_index
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.apps import found, ingested, write_book
from tests.support.gated_embedder import GatedEmbedder

pytestmark = pytest.mark.anyio

LESSONS = {"loops.md": "# Loops\n\nA while loop repeats as long as its condition is true.\n"}


async def test_an_app_uses_the_embedder_it_is_given(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    async with open_app(Settings(data_dir=tmp_path / "data"), embedder=embedder) as app:
        await ingested(app, write_book(tmp_path / "book", LESSONS))
        assert (await found(app, "while loop")).hits
    assert embedder.calls == 1


async def test_an_app_uses_the_index_it_is_given_and_leaves_it_open(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    async with open_index(tmp_path / "index", size=embedder.facts.size) as index:
        async with open_app(Settings(data_dir=tmp_path / "data"), embedder=embedder, index=index) as app:
            await ingested(app, write_book(tmp_path / "book", LESSONS))
        assert sum((await index.revisions("book")).values()) == 1
    assert not (tmp_path / "data" / "index").exists()
