"""A `bookwise serve` process on a small book, with everything that a figure counts: its log, descriptors and tasks."""

import asyncio
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2
from tests.support.apps import ingested, write_book
from tests.support.small_book import BOOK, LESSONS

from bookwise.settings import Settings
from bookwise.wiring import open_app

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 60.0
REQUEST_SECONDS = 120.0  #: a request that takes longer hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class RealService:
    """The process, and how to talk to it and look into it."""

    port: int
    pid: int
    log_file: Path
    client: httpx2.AsyncClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    @property
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the process. Unlike the time on a clock, it hardly depends on what else the machine does."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def tasks(self) -> int:
        """The number of asyncio tasks in the process."""
        before = len(self._reported)
        os.kill(self.pid, signal.SIGUSR1)
        await wait_until(lambda: len(self._reported) > before)
        return int(self._reported[-1])

    @property
    def _reported(self) -> list[str]:
        return re.findall(r"^tasks (\d+)$", self.log, re.MULTILINE)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)


def new_session() -> str:
    return str(uuid4())


@asynccontextmanager
async def scratch() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bookwise-trust-") as folder:
        yield Path(folder)


async def ingest_small_book(folder: Path, *, embedder: str = "minilm") -> None:
    await ingest_books(folder, {BOOK: LESSONS}, embedder=embedder)


async def ingest_books(folder: Path, books: Mapping[str, Mapping[str, str]], *, embedder: str = "minilm") -> None:
    async with open_app(Settings(data_dir=folder / "data", embedder=embedder)) as app:  # type: ignore[arg-type]
        for book_id, lessons in books.items():
            await ingested(app, write_book(folder / book_id, lessons), book_id=book_id)


@asynccontextmanager
async def running(folder: Path, *, control: str = "", **settings: str) -> AsyncIterator[RealService]:
    """Serves the data in `folder` on a free port until the block ends. `control` names what is broken in it."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
        "BOOKWISE_DATA_DIR": str(folder / "data"),
        **settings,
    }
    command = [sys.executable, "-m", "benchmarks.trust.faulty_program", control, "serve", "--port", "0"]
    log_file = folder / f"log-{uuid4()}"
    with log_file.open("w") as log:
        process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=folder, stderr=log, stdout=log)
    try:
        port = await _port(log_file, process)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)  # the service may close an idle one
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=REQUEST_SECONDS, limits=limits, trust_env=False
        ) as client:
            yield RealService(port=port, pid=process.pid, log_file=log_file, client=client)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def wait_until(is_true: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Raises `TimeoutError` when it does not become true."""
    async with asyncio.timeout(seconds):
        while not is_true():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)


async def _port(log: Path, process: asyncio.subprocess.Process) -> int:
    def address() -> re.Match[str] | None:
        return re.search(r"listens on http://\S+:(\d+)", log.read_text())

    await wait_until(lambda: address() or process.returncode is not None)
    if (found := address()) is None:
        raise RuntimeError(f"The service did not start: {log.read_text()}")  # noqa: ASYNC240 - the last thing it does
    return int(found[1])
