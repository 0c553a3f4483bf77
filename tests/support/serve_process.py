"""`bookwise serve` in a process of its own, on a port that it chooses."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from tests.support.program import RunningProgram, environment, running_program


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The running program and its address."""

    process: RunningProgram
    url: str

    @property
    def log(self) -> str:
        """All that it has written to stderr."""
        return self.process.err()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@asynccontextmanager
async def serving(data: Path, *options: str, **more: str) -> AsyncIterator[Served]:
    """The program until it is stopped, at the latest when the block ends."""
    arguments, env = ("serve", "--port", "0", *options), environment(data, **more)
    with running_program(*arguments, folder=data.parent, env=env) as process:
        yield Served(process=process, url=await listening(process))


async def listening(process: RunningProgram) -> str:
    """The address of the service, once it listens."""
    with anyio.fail_after(90):
        while not (found := re.search(r"listens on (http://\S+)\n", said := process.err())):
            assert process.returncode is None, said
            await anyio.sleep(0.02)
    return found[1]
