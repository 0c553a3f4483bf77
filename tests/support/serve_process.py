"""`bookwise serve` in a process of its own, on a port that it chooses."""

import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

PROGRAM = str(Path(sys.executable).parent / "bookwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The running program, and what it said."""

    process: Process
    url: str
    said: str  #: on stderr, before the first request
    log: list[str]  #: on stderr, since then

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def environment(data: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "BOOKWISE_DATA_DIR": str(data), **more}


@asynccontextmanager
async def serving(data: Path, *options: str, **more: str) -> AsyncIterator[Served]:
    """The program until it is stopped, at the latest when the block ends."""
    command = [PROGRAM, "serve", "--port", "0", *options]
    async with await anyio.open_process(command, env=environment(data, **more), cwd=data.parent) as process:
        assert process.stderr is not None
        try:
            said, lines = "", TextReceiveStream(process.stderr)
            with anyio.fail_after(60):
                while not (found := re.search(r"listens on (http://\S+)\n", said)):
                    said += await lines.receive()
            log: list[str] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_drain, lines, log)
                yield Served(process=process, url=found[1], said=said, log=log)
                tasks.cancel_scope.cancel()
        finally:
            if process.returncode is None:
                process.kill()


async def _drain(lines: TextReceiveStream, log: list[str]) -> None:
    async for text in lines:
        log.append(text)
