"""A disk that fills up: writing is refused in time, reading goes on, and no process is killed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest

from bookwise.adapters.disk_space import RESERVE_BYTES
from tests.faults.test_kill import write_book, write_lesson
from tests.support.program import environment, run_program
from tests.support.serve_process import serving
from tests.support.small_disks import MIB, DiskKind, SmallDisk, small_disk

pytestmark = pytest.mark.slow

DISK_MEGABYTES = 230
DISK_FULL = 6  #: exit code
HASHING = {"BOOKWISE_EMBEDDER": "hashing"}


@pytest.fixture(params=["ext4", "tmpfs"])
def kind(request: pytest.FixtureRequest) -> DiskKind:
    found: DiskKind = request.param
    return found


@pytest.fixture
def disk(kind: DiskKind, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(kind, tmp_path, megabytes=DISK_MEGABYTES) as mounted:
        yield mounted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "book-folder"
    write_book(folder)
    return folder


def run(disk: SmallDisk, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program on a data folder on the disk. A signal would make the exit code negative."""
    return run_program(*arguments, folder=disk.folder.parent, env=environment(disk.folder / "data", **HASHING))


def is_refused(done: subprocess.CompletedProcess[str]) -> bool:
    assert done.returncode == DISK_FULL, (done.returncode, done.stderr)
    assert "disk" in done.stderr
    assert "Delete" not in done.stderr
    return True


@pytest.mark.parametrize("leave", [0, MIB, RESERVE_BYTES // 2])
def test_a_first_ingest_is_refused_and_works_when_there_is_space(disk: SmallDisk, root: Path, leave: int) -> None:
    disk.fill(leave=leave)
    assert is_refused(run(disk, "ingest", str(root), "--book", "book"))
    disk.empty()
    assert run(disk, "ingest", str(root), "--book", "book").returncode == 0


def test_a_full_disk_keeps_a_book_that_was_ingested(disk: SmallDisk, kind: DiskKind, root: Path) -> None:
    assert run(disk, "ingest", str(root), "--book", "book").returncode == 0
    write_lesson(root, 1, "new")
    for leave in (MIB, 0):
        disk.fill(leave=leave)
        assert is_refused(run(disk, "ingest", str(root), "--book", "book"))
        searched = run(disk, "search", "Edition old tells fact 1 about joint 1.", "--json")
        if kind == "ext4" and leave:
            assert searched.returncode == 0, searched.stderr
            assert "Edition old" in searched.stdout
        else:  # opening the index writes a few blocks, and files in memory take space when they are read
            assert searched.returncode == 0 or is_refused(searched)
    disk.empty()
    assert run(disk, "ingest", str(root), "--book", "book").returncode == 0
    assert run(disk, "doctor").returncode == 0


def test_a_book_that_does_not_fit_keeps_what_was_published(root: Path, tmp_path: Path) -> None:
    for number in range(30):
        sentences = f"Sentence {number} of a long lesson.\n\n" * 1500
        (root / f"long-{number}.md").write_text(f"# Long {number}\n\n{sentences}")
    with small_disk("tmpfs", tmp_path, megabytes=92) as disk:
        assert is_refused(run(disk, "ingest", str(root), "--book", "book"))
        jobs = run(disk, "jobs", "--json").stdout
        assert '"disk-full: ' in jobs
        disk.resize(600)
        assert run(disk, "ingest", str(root), "--book", "book").returncode == 0
        assert run(disk, "doctor").returncode == 0


@pytest.mark.anyio
async def test_a_service_refuses_to_ingest_and_is_not_ready(disk: SmallDisk, root: Path) -> None:
    assert (await anyio.to_thread.run_sync(run, disk, "ingest", str(root), "--book", "book")).returncode == 0
    async with (
        serving(disk.folder / "data", **HASHING) as served,
        httpx2.AsyncClient(base_url=served.url, timeout=30, headers={"X-Requested-With": "tests"}) as client,
    ):
        assert (await client.get("/health")).status_code == 200
        write_lesson(root, 1, "new")
        disk.fill(leave=RESERVE_BYTES // 2)
        health = await until(client, "/health", 503)
        assert health["dependencies"]["disk"]["code"] == "disk-full"
        ingest = {"book_id": "book"}
        refused = await client.post("/ingestion/trigger", json=ingest)
        assert (refused.status_code, refused.json()["code"]) == (507, "insufficient-storage")
        found = await client.post("/search", json={"text": "fact 1 about joint 1", "book_id": "book"})
        assert found.status_code == 200, "reading goes on"
        disk.fill(leave=0)
        assert (await client.post("/ingestion/trigger", json=ingest)).status_code == 507
        assert (await client.get("/health/live")).status_code == 200
        disk.empty()
        await until(client, "/health", 200)
        accepted = await client.post("/ingestion/trigger", json=ingest)
        assert accepted.status_code == 202
        assert (await ended(client, accepted.json()["job_id"]))["status"] == "completed"
        assert served.process.returncode is None


async def ended(client: httpx2.AsyncClient, job_id: int) -> dict[str, object]:
    with anyio.fail_after(60):
        while True:
            job: dict[str, object] = (await client.get(f"/ingestion/status/{job_id}")).json()["job"]
            if job["status"] not in ("queued", "running"):
                return job
            await anyio.sleep(0.05)


async def until(client: httpx2.AsyncClient, path: str, status: int) -> dict[str, dict[str, dict[str, object]]]:
    """The response when it has this status: health checks are repeated after a few seconds."""
    with anyio.fail_after(20):
        while True:
            response = await client.get(path)
            if response.status_code == status:
                body: dict[str, dict[str, dict[str, object]]] = response.json()
                return body
            await anyio.sleep(0.2)
