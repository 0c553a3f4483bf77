"""A shared database and index with real worker processes, which can be stopped and killed."""

import json
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
from pydantic import SecretStr

from bookwise.cli.main import run
from bookwise.settings import Settings
from bookwise.wiring import App, open_app
from tests.support.program import RunningProgram, running_program
from tests.support.worker_child import run_with_fault


@dataclass(slots=True, kw_only=True)
class WorkerProcess:
    """A worker and what it has written."""

    process: RunningProgram

    def reports(self) -> list[dict[str, Any]]:
        """The steps it has reported so far; a last line that a kill cut in half is left out."""
        lines = self.process.out().split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def log(self) -> str:
        return self.process.err()

    def deaths(self) -> int:
        """How often it was killed and started again."""
        return self.log().count(f"ended with {-signal.SIGKILL}")

    @property
    def newest_pid(self) -> int | None:
        """The process that works now, of a worker that is started again; None while it is starting."""
        pids = re.findall(r"Bookwise worker (\d+) takes", self.log())
        ended = re.findall(r"worker (\d+) ended with", self.log())
        return int(pids[-1]) if pids and pids[-1] not in ended else None

    @property
    def is_stopped(self) -> bool:
        """Whether SIGSTOP has stopped it."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    async def ready(self) -> None:
        with anyio.fail_after(120):
            while "takes jobs" not in self.log():
                assert self.process.returncode is None, self.log()
                await anyio.sleep(0.05)

    async def ended(self, seconds: float = 120) -> int:
        with anyio.fail_after(seconds):
            return await self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedServers:
    """The addresses of a database and an index for one test."""

    database_url: str
    qdrant_url: str
    folder: Path
    qdrant_api_key: str = ""
    lease_seconds: float = 3.0
    collection: str = field(default_factory=lambda: f"test-{uuid4().hex[:8]}")

    @property
    def settings(self) -> Settings:
        return Settings(
            data_dir=self.folder / "data",
            embedder="hashing",
            database_url=SecretStr(self.database_url),
            qdrant_url=self.qdrant_url,
            qdrant_api_key=SecretStr(self.qdrant_api_key) if self.qdrant_api_key else None,
            qdrant_collection_name=self.collection,
            worker_lease_seconds=self.lease_seconds,
        )

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "QDRANT_URL": self.qdrant_url,
            **({"QDRANT_API_KEY": self.qdrant_api_key} if self.qdrant_api_key else {}),
            "QDRANT_COLLECTION_NAME": self.collection,
            "BOOKWISE_DATA_DIR": str(self.folder / "data"),
            "BOOKWISE_EMBEDDER": "hashing",
            "BOOKWISE_WORKER_LEASE_SECONDS": str(self.lease_seconds),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            **more,
        }

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[App]:
        async with open_app(self.settings) as app:
            yield app

    @contextmanager
    def worker(self, *options: str, **more: str) -> Iterator[WorkerProcess]:
        """A worker, gone after the block. FAULT and RESTART are explained in tests/support/worker_child.py."""
        main = run_with_fault if {"FAULT", "RESTART"} & more.keys() else run
        arguments, env = (more.get("COMMAND", "worker"), "--json", *options), self.environment(**more)
        with running_program(*arguments, folder=self.folder, env=env, main=main) as process:
            yield WorkerProcess(process=process)
