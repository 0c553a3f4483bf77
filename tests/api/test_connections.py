"""Connections that never finish, pretend, or come in crowds: raw sockets against `bookwise serve`."""

import re
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bookwise.api.connections import ConnectionConfig
from bookwise.settings import Settings
from tests.support.program import PROGRAM, environment

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SECONDS = "1"  #: how long the service waits for a head, and on an idle connection
HEAD = b"GET /books HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
FILES = 256
CROWD = 300


@dataclass(frozen=True, slots=True)
class Service:
    """A running `bookwise serve`, and its log."""

    port: int
    log: Path


@contextmanager
def serving(folder: Path, *, files: int = 1024, **settings: str) -> Iterator[Service]:
    """A service without a book, which may open this many files."""
    log = folder / "log"
    log.touch()
    settings |= {"BOOKWISE_EMBEDDER": "hashing"}
    command = ["sh", "-c", f"ulimit -n {files}; exec {PROGRAM} serve --port 0"]
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=environment(folder / "data", **settings), stderr=errors, cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while not (found := re.search(r"listens on http://127.0.0.1:(\d+)\n", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield Service(int(found[1]), log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that waits for no one."""
    times = {"BOOKWISE_HEADER_TIMEOUT_SECONDS": SECONDS, "BOOKWISE_IDLE_TIMEOUT_SECONDS": SECONDS}
    with serving(tmp_path_factory.mktemp("service"), **times) as served:
        yield served


@contextmanager
def connected(served: Service, sent: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(sent)
        yield connection


def everything(connection: socket.socket) -> bytes:
    """What comes until the service closes the connection."""
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


async def response(served: Service, sent: bytes) -> bytes:
    """Sends these bytes; returns what comes until the service closes the connection."""

    def talk() -> bytes:
        with connected(served, sent) as connection:
            return everything(connection)

    return await anyio.to_thread.run_sync(talk)


async def test_a_connection_that_never_finishes_its_head_is_closed(service: Service) -> None:
    received: dict[bytes, bytes] = {}

    async def send(part: bytes) -> None:
        received[part] = await response(service, part)

    async with anyio.create_task_group() as tasks:
        for part in (b"", b"GET", HEAD):
            tasks.start_soon(send, part)
    assert received[b""] == b"", "one that says nothing"
    assert received[b"GET"].startswith(b"HTTP/1.1 408 ")
    assert received[HEAD].startswith(b"HTTP/1.1 408 ")


async def test_a_head_that_drips_is_cut_off_at_the_deadline(service: Service) -> None:
    async with await anyio.connect_tcp("127.0.0.1", service.port) as connection:
        await connection.send(HEAD)
        received = b""
        with anyio.fail_after(30):
            while not received:
                await connection.send(b"X-Drip: 1\r\n")
                with anyio.move_on_after(0.1):
                    received = await connection.receive()
    assert received.startswith(b"HTTP/1.1 408 ")


async def test_a_second_request_has_a_deadline_too(service: Service) -> None:
    received = await response(service, HEAD + b"\r\n" + HEAD)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in received


async def test_an_idle_connection_is_closed(service: Service) -> None:
    received = await response(service, HEAD + b"\r\n")
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.count(b"HTTP/1.1") == 1


async def test_a_body_that_drips_after_its_response_is_cut_off(service: Service) -> None:
    head = (
        b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n"
    )
    async with await anyio.connect_tcp("127.0.0.1", service.port) as connection:
        await connection.send(head)
        received = await connection.receive()
        with anyio.fail_after(30), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await connection.send(b"x")
                with anyio.move_on_after(0.1):
                    await connection.receive()
    assert received.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("body", [b"", b"hello"])
async def test_a_request_for_a_websocket_gets_an_answer(service: Service, body: bytes) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    received = await response(service, HEAD + upgrade + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert received.startswith(b"HTTP/1.1 200 "), "as if it had not asked"
    assert "Unsupported upgrade" not in service.log.read_text()


async def test_a_request_with_two_lengths_is_refused(service: Service) -> None:
    smuggled = b"0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for framing in (
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
    ):
        received = await response(
            service, b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + framing + b"\r\n" + smuggled
        )
        assert received.startswith(b"HTTP/1.1 400 ")
        assert received.count(b"HTTP/1.1 ") == 1, "nothing after it is read as a request"


@pytest.mark.parametrize("sent", [HEAD, BODY], ids=["head", "body"])
def test_a_crowd_of_unfinished_requests_does_not_keep_others_out(tmp_path: Path, sent: bytes) -> None:
    with serving(tmp_path, files=FILES, BOOKWISE_HEADER_TIMEOUT_SECONDS="600") as served, ExitStack() as crowd:
        for _ in range(CROWD):
            crowd.enter_context(connected(served, sent))
        for _ in range(10):
            assert httpx2.get(f"http://127.0.0.1:{served.port}/health", timeout=20).status_code == 200
        assert "out of system resource" not in served.log.read_text()


@asynccontextmanager
async def running(app: ASGIApp, *, connections: int) -> AsyncIterator[tuple[ConnectionConfig, int]]:
    """This app on a port, with at most this many connections."""
    config = ConnectionConfig(app, Settings(max_connections=connections), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield config, listening.getsockname()[1]
            server.should_exit = True


async def test_when_every_connection_is_busy_another_is_refused_at_once() -> None:
    release = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await Response()(scope, receive, send)

    async with running(app, connections=2) as (_, port):
        busy = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(2)]
        for connection in busy:
            await connection.send(HEAD + b"\r\n")
        async with await anyio.connect_tcp("127.0.0.1", port) as third:
            with anyio.fail_after(30):
                assert (await third.receive()).startswith(b"HTTP/1.1 503 ")
        release.set()
        for connection in busy:
            assert (await connection.receive()).startswith(b"HTTP/1.1 200 ")
            await connection.aclose()


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends more than any buffer has room for."""
    await Response(b"x" * 32 * 1024 * 1024)(scope, receive, send)


async def test_clients_that_do_not_read_make_room_for_others() -> None:
    async with running(large, connections=2) as (config, port):
        unread = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(2)]
        for connection in unread:
            await connection.send(HEAD + b"\r\n")
        with anyio.fail_after(30):
            while len(config.waiting) < 2:  # noqa: ASYNC110 - the server notices it by itself
                await anyio.sleep(0.01)
        async with await anyio.connect_tcp("127.0.0.1", port) as third:
            await third.send(HEAD + b"\r\n")
            with anyio.fail_after(30):
                assert (await third.receive()).startswith(b"HTTP/1.1 200 ")
        for connection in unread:
            await connection.aclose()


async def test_a_client_that_does_not_read_is_disconnected() -> None:
    async with running(large, connections=2) as (config, port):
        config.send_seconds = 0.1
        async with await anyio.connect_tcp("127.0.0.1", port) as connection:
            await connection.send(HEAD + b"\r\n")
            with anyio.fail_after(30):
                while not config.waiting:  # noqa: ASYNC110 - the server notices it by itself
                    await anyio.sleep(0.01)
                while config.waiting:  # noqa: ASYNC110
                    await anyio.sleep(0.01)


async def test_a_client_that_reads_slowly_gets_everything() -> None:
    async with running(large, connections=2) as (config, port):
        config.send_seconds = 2
        async with await anyio.connect_tcp("127.0.0.1", port) as connection:
            await connection.send(HEAD + b"Connection: close\r\n\r\n")
            received = 0
            with anyio.fail_after(60), suppress(anyio.EndOfStream):
                while True:
                    received += len(await connection.receive(8 * 1024 * 1024))
                    await anyio.sleep(0.002)
    assert received > 32 * 1024 * 1024
