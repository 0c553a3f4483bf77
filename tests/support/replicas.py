"""Two services and two workers on one database and one index, one of which is killed now and then."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle

import anyio
import httpx2
import psycopg

from bookwise.domain.jobs import TRIES_MAX
from tests.support.program import running_program
from tests.support.serve_process import listening
from tests.support.workers import SharedServers, WorkerProcess

IDLE_SECONDS = 12.0  #: a worker that has reported nothing for this long has nothing to do, also on a busy machine


@dataclass(slots=True, kw_only=True)
class Service:
    """`bookwise serve`, which is started again when it was killed."""

    servers: SharedServers
    running: ExitStack = field(default_factory=ExitStack)
    url: str = ""
    deaths: int = 0

    async def start(self) -> None:
        env, folder = self.servers.environment(), self.servers.folder
        program = running_program("serve", "--port", "0", folder=folder, env=env)
        self.url = await listening(self.running.enter_context(program))

    async def kill(self) -> None:
        self.stop()
        self.deaths += 1
        await self.start()

    def stop(self) -> None:
        self.running.close()


@dataclass(slots=True, kw_only=True)
class Replicas:
    """Everything that runs, and the kills so far."""

    workers: list[WorkerProcess]
    services: list[Service]
    client: httpx2.AsyncClient
    database_url: str
    killed: list[str] = field(default_factory=list)

    async def kill_in_turn(self) -> None:
        """Kills one worker, then one service, then the others, for as long as the task runs.

        A worker first ends a step, if there is one: a lesson that is never given the time counts as poison.
        """
        for number in cycle((0, 1)):
            worker = self.workers[number]
            await self._no_last_try()
            if (pid := worker.newest_pid) is not None:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(f"worker {number}")
            await self.services[number].kill()
            self.killed.append(f"service {number}")
            with anyio.move_on_after(30):
                while worker.newest_pid in (None, pid):  # noqa: ASYNC110 - a file sends no event when it grows
                    await anyio.sleep(0.05)
            reported = len(worker.reports())
            with anyio.move_on_after(IDLE_SECONDS):
                while len(worker.reports()) == reported:  # noqa: ASYNC110
                    await anyio.sleep(0.05)

    async def _no_last_try(self) -> None:
        """Waits while a worker has the last try of a step: its end would be poison, by chance alone."""
        query = "SELECT 1 FROM job_steps WHERE failures >= %s"
        with psycopg.connect(self.database_url, autocommit=True) as database, anyio.fail_after(60):
            while database.execute(query, [TRIES_MAX]).fetchone():  # noqa: ASYNC110 - a table sends no event
                await anyio.sleep(0.05)

    async def request(self, method: str, path: str, **more: object) -> httpx2.Response:
        """The response of whichever service gives one; a request that was lost with a killed service is repeated."""
        with anyio.fail_after(120):
            for service in cycle(self.services):
                try:
                    return await self.client.request(method, f"{service.url}{path}", **more)  # type: ignore[arg-type]
                except httpx2.TransportError:
                    await anyio.sleep(0.1)
        raise AssertionError


@asynccontextmanager
async def running_replicas(servers: SharedServers) -> AsyncIterator[Replicas]:
    with ExitStack() as stack:
        workers = [stack.enter_context(servers.worker(RESTART="1")) for _ in range(2)]
        services = [Service(servers=servers) for _ in range(2)]
        for service in services:
            stack.callback(service.stop)
            await service.start()
        for worker in workers:
            await worker.ready()
        async with httpx2.AsyncClient(timeout=60) as client:
            yield Replicas(workers=workers, services=services, client=client, database_url=servers.database_url)
