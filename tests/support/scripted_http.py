"""A script of replies into a real HTTP/1.1 server on loopback, which records what it was asked."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""  #: parts are sent one by one, without a length; they may never end
    json: object = None  #: takes the place of `body`
    delay: float = 0.0  #: seconds before the first byte
    pause: float = 0.0  #: seconds between two parts of the body
    cut_after: int | None = None  #: bytes of the body after which the connection is closed
    fault: Literal["", "reset", "hang"] = ""  #: instead of any answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the server was asked; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Request], Reply]
ACCEPT_STEPS = 4  #: of the event loop, until `Server.accept` is called for a connection that the listener has taken


class Server:
    """Counts what it was asked, one connection after the other or several at once."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[Request] = []
        self.keeps_requests = True  #: a server that runs for long should not
        self.most_at_once = 0
        self.waits = 0  #: how often a client waited: requests that run at the same time count once
        self.port = 0
        self.host = "127.0.0.1"
        self._answer = answer
        self._at_once = 0
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._is_stopped = False

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._talks)

    @property
    def targets(self) -> list[str]:
        return [request.target for request in self.requests]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Starts to serve a connection. It is known from here on, even if the server stops before its first step."""
        if self._is_stopped:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._talks[task] = writer
        task.add_done_callback(self._talks.pop)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection until either side ends it."""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await _read_request(reader)) is not None and await self._serve(request, writer):
                    pass
        finally:
            await _close(writer)

    async def stop(self) -> None:
        """Ends every conversation, also those that hang or have not begun."""
        self._is_stopped = True
        talks = dict(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        for writer in talks.values():  # a task that was cancelled before its first step has closed nothing
            await _close(writer)

    async def _serve(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if self.keeps_requests:
            self.requests.append(request)
        self.waits += self._at_once == 0
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await _send(self._answer(request), writer)
        finally:
            self._at_once -= 1


class Script:
    """Replies in order; remembers what came when none was left."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._left = list(replies)
        self._unexpected: list[str] = []

    def __call__(self, request: Request) -> Reply:
        if self._left:
            return self._left.pop(0)
        self._unexpected.append(f"{request.method} {request.target}")
        return Reply(status=500)

    def check(self) -> None:
        assert not self._unexpected, f"requests nobody expected: {self._unexpected}"
        assert not self._left, f"{len(self._left)} replies of the script were never asked for"


@asynccontextmanager
async def scripted(*replies: Reply) -> AsyncIterator[Server]:
    """Serves these replies in order; leaving it fails when any is left over or one more was asked for."""
    script = Script(replies)
    async with answering(script) as server:
        yield server
    script.check()


def routed(routes: Mapping[str, Reply]) -> AbstractAsyncContextManager[Server]:
    """Serves one reply per target, 404 for every other; the mapping may change while the server runs."""
    return answering(lambda request: routes.get(request.target, Reply(status=404)))


@asynccontextmanager
async def answering(answer: Answer, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Server]:
    """Serves whatever the function says."""
    server = Server(answer)
    listener = await asyncio.start_server(server.accept, host, port)
    server.host, server.port = listener.sockets[0].getsockname()[:2]
    try:
        yield server
    finally:
        for _ in range(ACCEPT_STEPS):  # a closed listener would lose the connection that it is accepting, unclosed
            await asyncio.sleep(0)
        listener.close()
        await server.stop()
        await listener.wait_closed()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError, asyncio.CancelledError):
        await writer.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    line = (await reader.readline()).decode("latin-1").split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while entry := (await reader.readline()).decode("latin-1").strip():
        name, _, value = entry.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method=line[0], target=line[1], headers=headers, body=body)


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection can serve another request."""
    await asyncio.sleep(reply.delay)
    if reply.fault == "hang":
        await asyncio.Event().wait()
    if reply.fault == "reset":
        _reset(writer)
        return False
    body = json.dumps(reply.json).encode() if reply.json is not None else reply.body
    length = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {"Connection": "close"}
    writer.write(_head(reply.status, {**length, **reply.headers}))
    if not isinstance(body, bytes):
        return await _send_parts(body, reply.pause, writer)
    writer.write(body if reply.cut_after is None else body[: reply.cut_after])
    await writer.drain()
    return reply.cut_after is None


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    known = {entry.value: entry.phrase for entry in HTTPStatus}
    lines = [f"HTTP/1.1 {status} {known.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send_parts(parts: Iterable[bytes], pause: float, writer: asyncio.StreamWriter) -> bool:
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(pause)
    return False


def _reset(writer: asyncio.StreamWriter) -> None:
    # With a linger time of zero the kernel sends RST instead of FIN.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
