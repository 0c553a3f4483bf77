"""The Qdrant loopback in a process of its own, for tests with several processes. See `qdrant_loopback`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen


@contextmanager
def qdrant_process(folder: Path | None = None, *, api_key: str = "") -> Iterator[str]:
    """The address of a loopback that runs until the end of the block. Without a folder the data is in memory."""
    command = [sys.executable, "-m", "tests.support.qdrant_loopback", "--port", "0", "--api-key", api_key]
    command += ["--folder", str(folder)] if folder else []
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "the loopback did not start"
            yield address
        finally:
            process.kill()


def trips(address: str) -> dict[str, int]:
    """How often each route of the loopback at this address was called."""
    with urlopen(f"{address}/loopback/trips", timeout=10) as response:
        counted: dict[str, int] = json.load(response)
    return counted
