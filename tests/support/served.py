"""The service on a real server on loopback, in this process."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import uvicorn

from bookwise.api.app import create_app
from bookwise.api.state import ServiceState
from bookwise.settings import Settings
from tests.support.embedders import shared_embedder
from tests.support.shared_index import copy_book


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where the service is, and what is behind it."""

    url: str
    service: ServiceState

    async def key(self, *books: str) -> str:
        """The secret of a new key that sees these books; all of them when none is named."""
        _, secret = await self.service.keys.create("a reader", "reader", books=books)
        return secret


class _Server(uvicorn.Server):
    """A server that says when it listens, and when it has ended."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready, self.ended = anyio.Event(), anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        self.ended.set()


@asynccontextmanager
async def served(
    settings: Settings, small_book: Path, *, open_to_anyone: bool = True, own_index: bool = False
) -> AsyncIterator[Served]:
    """The small book, served from a copy of its data folder. `own_index`: the test writes to the index."""
    index = copy_book(small_book, settings, own_index=own_index)
    app = create_app(settings, open_to_anyone=open_to_anyone, embedder=shared_embedder(settings), index=index)
    server = _Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            with anyio.fail_after(30):
                await server.ready.wait()
            try:
                yield Served(url=f"http://127.0.0.1:{listening.getsockname()[1]}", service=app.state.service)
            finally:
                server.should_exit = True
                # A test that failed leaves no service behind to the next one.
                with anyio.move_on_after(30, shield=True):
                    await server.ended.wait()
