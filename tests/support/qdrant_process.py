"""The Qdrant loopback in a process of its own, for tests with several processes. See `qdrant_loopback`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import anyio

from tests.support.processes import Report, child
from tests.support.qdrant_loopback import qdrant_loopback


@contextmanager
def qdrant_process(folder: Path | None = None, *, api_key: str = "") -> Iterator[str]:
    """The address of a loopback that runs until the end of the block. Without a folder the data is in memory."""
    with child(_serve, folder, api_key) as process:
        yield process.next_line()


def _serve(report: Report, folder: Path | None, api_key: str) -> None:
    async def serve() -> None:
        async with qdrant_loopback(folder, api_key=api_key) as server:
            server.http.keeps_requests = False  # a test may send thousands
            report(server.url)
            await anyio.sleep_forever()

    anyio.run(serve)


def trips(address: str) -> dict[str, int]:
    """How often each route of the loopback at this address was called."""
    with urlopen(f"{address}/loopback/trips", timeout=10) as response:
        counted: dict[str, int] = json.load(response)
    return counted
