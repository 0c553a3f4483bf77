"""No other user of the machine can read what a service or a command writes."""

from pathlib import Path

import anyio
import httpx2
import pytest

from tests.support.apps import write_book
from tests.support.program import PROGRAM, environment
from tests.support.serve_process import serving

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LESSONS = {"first.md": "# First\n\nThe very first lesson is about gearboxes.\n"}


def readable_by_others(folder: Path) -> list[str]:
    return [str(path) for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]


async def test_everything_in_the_data_folder_is_private(tmp_path: Path) -> None:
    data, book = tmp_path / "data", write_book(tmp_path / "book", LESSONS)
    settings = {"BOOKWISE_EMBEDDER": "hashing"}
    command = ["sh", "-c", f"umask 022; exec {PROGRAM} ingest {book}"]
    await anyio.run_process(command, env=environment(data, **settings), cwd=tmp_path)
    assert readable_by_others(data) == []
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # as an earlier version left it
    async with serving(data, **settings) as served, httpx2.AsyncClient(base_url=served.url) as client:
        write_book(book, {"second.md": "# Second\n\nThe second lesson is about lamps.\n"})
        job = (await client.post("/ingestion/trigger", json={"book_id": "book"})).raise_for_status().json()["job_id"]
        with anyio.fail_after(30):
            while (await client.get(f"/ingestion/status/{job}")).json()["job"]["status"] != "completed":  # noqa: ASYNC110
                await anyio.sleep(0.05)
        (await client.post("/chat/run", json={"message": "What is the first lesson about?"})).raise_for_status()
        assert (data / "bookwise.db-wal").exists()
        assert readable_by_others(data) == []
