"""A server that accepts connections and never answers, as one that hangs in the middle of a TLS handshake."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, kw_only=True)
class SilentServer:
    """Where it listens, and what each connection had sent when the client closed it."""

    url: str
    closed: list[bytes] = field(default_factory=list)

    async def all_closed(self, count: int) -> None:
        """Waits until the client has closed this many connections, each after it had begun a handshake."""
        with anyio.fail_after(10):
            while len(self.closed) < count:  # noqa: ASYNC110 - the clients send no event
                await anyio.sleep(0.01)
        assert all(self.closed), "a handshake has not begun"


@asynccontextmanager
async def silent_server() -> AsyncIterator[SilentServer]:
    async def listen_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.closed.append(await reader.read())  # returns when the other side closes
        writer.close()

    async with await asyncio.start_server(listen_only, "127.0.0.1", 0) as listening:
        server = SilentServer(url=f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
        yield server
