"""The HTTP service in this process: a client for whole answers, and a raw exchange for streams and leavers."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from fastapi import FastAPI
from starlette.types import Message

from bookwise.api.app import create_app
from bookwise.api.state import ServiceState
from bookwise.settings import Settings
from tests.support.embedders import shared_embedder
from tests.support.shared_index import copy_book

DELIBERATE = {"X-Requested-With": "tests"}  #: what no form sends


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The service, and a client that speaks to it."""

    app: FastAPI
    client: httpx2.AsyncClient

    @property
    def service(self) -> ServiceState:
        service: ServiceState = self.app.state.service
        return service

    async def key(self, *books: str, role: Any = "reader", rate: int = 100) -> dict[str, str]:
        """The headers of a new key that sees these books; all of them when none is named."""
        _, secret = await self.service.keys.create("a key", role, books=books, rate_per_minute=rate)
        return {"Authorization": f"Bearer {secret}"}


@asynccontextmanager
async def http_service(
    settings: Settings, book: Path | None = None, *, open_to_anyone: bool = True, own_index: bool = False
) -> AsyncIterator[Opened]:
    """The service on a copy of this data folder, or on an empty one. `own_index`: the test writes to the index."""
    index = copy_book(book, settings, own_index=own_index) if book is not None else None
    app = create_app(settings, open_to_anyone=open_to_anyone, embedder=shared_embedder(settings), index=index)
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=DELIBERATE) as client,
    ):
        yield Opened(app=app, client=client)


@dataclass(slots=True)
class Event:
    """One server-sent event."""

    name: str
    data: dict[str, Any]


def events_in(text: str) -> list[Event]:
    """The events of a whole transcript; comments are left out."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if lines:
            found.append(Event(lines["event"], json.loads(lines["data"])))
    return found


@dataclass
class Exchange:
    """One request, seen as the server sees it: what was sent back so far, and a reader who may leave."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    _left: anyio.Event = field(default_factory=anyio.Event)
    _grown: anyio.Event = field(default_factory=anyio.Event)
    _parts: list[bytes] = field(default_factory=list)

    def leave(self) -> None:
        self._left.set()

    @property
    def events(self) -> list[Event]:
        return events_in(self.body.decode())

    async def until(self, text: str) -> None:
        """Waits for these words in the body."""
        with anyio.fail_after(20):
            while text.encode() not in self.body:
                assert not self.ended, f"ended without {text!r}: {self.status} {self.body.decode()}"
                await self._grown.wait()

    async def receive(self) -> Message:
        if self._parts:
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.ended = not message.get("more_body", False)
        self._grown.set()
        self._grown = anyio.Event()


async def exchange(
    app: FastAPI, path: str, *parts: bytes, seen: Exchange | None = None, method: str = "POST", **headers: str
) -> Exchange:
    """Sends a body in these parts and returns when the service is done with it. `seen` may be watched meanwhile."""
    seen = seen or Exchange()
    seen._parts = list(parts) or [b""]
    path, _, query = path.partition("?")
    named = {"host": "127.0.0.1", "content-type": "application/json"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items() if value],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, seen.receive, seen.send)
    return seen
