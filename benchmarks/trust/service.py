"""`bookwise serve` in a child process that is forked with its imports done. It starts in a fraction of a second, so it
can be killed hundreds of times. A wrapper around what it opens breaks it on purpose."""

import asyncio
import json
import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from tests.support import processes
from tests.support.apps import ingested, write_book
from tests.support.processes import Child, Report, child

from bookwise.adapters.data_folder import running_service
from bookwise.api import serve, state
from bookwise.settings import Settings
from bookwise.wiring import App, open_app

Change = Callable[[App], App]  #: what the child opens → what it uses instead; has to be picklable

MEMORY_DISK = Path("/dev/shm")
MEMORY_DISK_FREE_MIN = 4 * 1024**3
START_SECONDS = 90.0
REPLY_SECONDS = 60.0
IDLE_SECONDS = 2.0  #: the service may close a connection that is not used for longer
BOOK = "book"
RATE_MAX = 100_000

processes.PRELOADED.append("benchmarks.trust.warm_imports")


class Gone(ConnectionError):
    """The service has closed the connection before it sent a complete response."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """On the memory disk if it is large enough: a kill of a process loses nothing that the system has taken."""
    is_large = MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free >= MEMORY_DISK_FREE_MIN
    with tempfile.TemporaryDirectory(prefix="trust-", dir=MEMORY_DISK if is_large else None) as folder:
        yield Path(folder)


async def prepare(folder: Path, lessons: Mapping[str, str]) -> tuple[Path, Path, str]:
    """A book folder, a data folder with the book in it, and the secret of an admin."""
    root, data = write_book(folder / "book", lessons), folder / "data"
    return root, data, await ingest_with_key(root, Settings(data_dir=data, embedder="hashing"))


async def ingest_with_key(root: Path, settings: Settings) -> str:
    """Ingests the book and returns the secret of an admin without a limit."""
    async with open_app(settings) as app:
        await ingested(app, root, book_id=BOOK)
        _, secret = await app.keys.create("operator", "admin", rate_per_minute=RATE_MAX)
    return secret


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_replayed(self) -> bool:
        return self.headers.get("idempotent-replayed") == "true"


@dataclass(slots=True)
class Line:
    """One connection that is kept open, for one request at a time. Needs far less CPU than a complete client."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None
    _used: float = 0.0

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.send("GET", path, b"", headers)

    async def post(self, path: str, body: object, **headers: str) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.send("POST", path, data, {"Content-Type": "application/json", **headers})

    async def delete(self, path: str) -> Reply:
        return await self.send("DELETE", path, b"", {})

    async def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Raises `Gone` when the service ends the connection early."""
        named = {
            "Host": "127.0.0.1",
            **self.headers,
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in named.items())]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1")
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                return await self._exchange(head + body)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            await self.close()
            raise Gone(f"{method} {path}: {error!r}") from error

    async def _exchange(self, request: bytes) -> Reply:
        if time.monotonic() > self._used + IDLE_SECONDS:
            await self.close()
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)
        self._writer.write(request)
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): text.strip() for name, _, text in (entry.partition(":") for entry in head[1:])}
        body = await _body(self._reader, headers)
        self._used = time.monotonic()
        if headers.get("connection") == "close":
            await self.close()
        return Reply(int(head[0].split()[1]), headers, body)

    async def close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts: list[bytes] = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(parts)


@dataclass(slots=True, kw_only=True)
class Running:
    """The service process, and connections to it."""

    child: Child
    data: Path
    log: Path
    port: int
    secret: str
    lines: list[Line] = field(default_factory=list)

    @property
    def pid(self) -> int:
        pid = self.child.process.pid
        assert pid is not None
        return pid

    @property
    def is_alive(self) -> bool:
        return self.child.process.is_alive()

    def line(self, secret: str | None = None) -> Line:
        """A new connection of the admin, or of another key."""
        self.lines.append(Line(self.port, {"Authorization": f"Bearer {secret or self.secret}"}))
        return self.lines[-1]

    def operator(self) -> Line:
        """What a command of the owner of the data folder uses beside a service."""
        service = running_service(self.data)
        assert service is not None
        return self.line(service.secret)

    @property
    def last_messages(self) -> str:
        return end_of(self.log)

    def kill(self) -> None:
        self.child.process.kill()
        self.child.process.join()

    async def job(self, line: Line, job_id: int) -> dict[str, Any]:
        """The job when it has ended."""
        async with asyncio.timeout(REPLY_SECONDS):
            while True:
                job: dict[str, Any] = (await line.get(f"/ingestion/status/{job_id}")).json["job"]
                if job["completed_at"] is not None:
                    return job
                await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(
    data: Path, secret: str, *, change: Change | None = None, embedder: str = "hashing", **settings: Any
) -> AsyncIterator[Running]:
    """The service until the end of the block, which kills it if it still runs."""
    with starting(data, change=change, embedder=embedder, **settings) as (process, log):
        port = await port_of(process, log)
        running = Running(child=process, data=data, log=log, port=port, secret=secret)
        try:
            yield running
        finally:
            for line in running.lines:
                await line.close()


@contextmanager
def starting(data: Path, *, change: Change | None = None, **settings: Any) -> Iterator[tuple[Child, Path]]:
    """The process before it listens, and its log."""
    log = data.parent / f"log-{time.monotonic_ns()}"
    with child(serve_in_child, log, {"data_dir": data, "port": 0, **settings}, change) as process:
        yield process, log


async def port_of(process: Child, log: Path) -> int:
    """The port, when the service listens and is open."""
    async with asyncio.timeout(START_SECONDS):
        while not (found := re.search(r"listens on http://\S+:(\d+)\n", end_of(log))):
            if not process.process.is_alive():
                raise Gone(f"the service has ended at its start: {end_of(log)}")
            await asyncio.sleep(0.005)
    return int(found[1])


def end_of(log: Path) -> str:
    return log.read_text()[-3000:] if log.exists() else ""


def serve_in_child(report: Report, log: Path, settings: Mapping[str, Any], change: Change | None) -> None:
    """What `bookwise serve` does, with its messages in a file."""
    warnings.simplefilter("default")
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 2)
    if change is not None:
        state.open_app = partial(_open_changed, state.open_app, change)  # type: ignore[assignment]
    anyio.run(serve.serve, Settings(**settings))


@asynccontextmanager
async def _open_changed(open_app: Any, change: Change, *args: Any, **options: Any) -> AsyncIterator[App]:
    async with open_app(*args, **options) as app:
        yield change(app)
