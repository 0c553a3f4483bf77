"""The vectors of the sample book, computed once for all workers of a test run: embedding it takes ten seconds."""

import fcntl
import os
import shutil
from pathlib import Path

import anyio
import pytest

from bookwise.operations.books import RemoveBook
from bookwise.settings import Settings
from bookwise.wiring import INDEX_FOLDER, open_app
from tests.support.apps import SAMPLE_BOOK, ingested


@pytest.fixture(scope="session")
def sample_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder to be copied, without book and index. An ingest of the sample book finds its vectors there."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the workers share it
    data, complete = folder / "sample-vectors", folder / "sample-vectors-complete"
    with (folder / "sample-vectors-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            anyio.run(_embed, data)
            complete.touch()
    return data


async def _embed(data: Path) -> None:
    async with open_app(Settings(data_dir=data, embedder="minilm")) as app:
        await ingested(app, SAMPLE_BOOK, book_id="sample")
        await RemoveBook(book_id="sample").run(app)
    shutil.rmtree(data / INDEX_FOLDER)
