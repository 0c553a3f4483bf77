"""While the queue is full, a question is refused on its first bytes: raw bytes to the server of `bookwise serve`."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.abc
import pytest
from starlette.types import Receive, Scope, Send

from bookwise.api import early_refusal
from bookwise.api.early_refusal import PATHS
from bookwise.api.load_limit import AT_ONCE
from bookwise.api.middleware.startup_gate import StartupGate
from bookwise.api.serve import Server, bound
from tests.api.test_overload import REQUESTS
from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

PAGE, OTHER_PAGE = "https://book.example", "https://elsewhere.example"


@dataclass(slots=True)
class Served:
    """A service on a port, and the paths of the requests that have reached its routes."""

    opened: Opened
    server: Server
    port: int
    reached: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append(scope["path"])
        await self.opened.app(scope, receive, send)

    async def connect(self) -> "Client":
        return Client(await anyio.connect_tcp("127.0.0.1", self.port))

    @asynccontextmanager
    async def full(self) -> AsyncIterator[None]:
        """All slots are taken and no one may wait."""
        async with AsyncExitStack() as slots:
            for _ in range(AT_ONCE):
                await slots.enter_async_context(self.opened.service.load_limit.slot())
            yield


@dataclass(slots=True)
class Client:
    """One connection."""

    stream: anyio.abc.SocketStream

    async def post(self, path: str, *, parts: int = 1, **headers: str) -> tuple[int, dict[str, str], bytes]:
        body = json.dumps(REQUESTS.get(path, {})).encode()
        named = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(body))}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        await self.stream.send(_head(f"POST {path} HTTP/1.1", named) + (body if parts == 1 else b""))
        if parts == 1:
            return await self.response()
        reply = await self.response()
        await self.stream.send(body)
        return reply

    async def get(self, path: str) -> int:
        await self.stream.send(_head(f"GET {path} HTTP/1.1", {"Host": "127.0.0.1"}))
        return (await self.response())[0]

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await self.stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        while len(body) < int(headers["content-length"]):
            body += await self.stream.receive()
        return int(first.split()[1]), headers, body


def _head(line: str, headers: dict[str, str]) -> bytes:
    return "\r\n".join([line, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()


@asynccontextmanager
async def served(folder: Path, book: Path | None, *, is_open: bool = True) -> AsyncIterator[Served]:
    settings = settings_for(folder / "data", queue_seconds=0, cors_origins=(PAGE,))
    async with http_service(settings, book, open_to_anyone=is_open) as opened:
        with bound("127.0.0.1", 0) as listening:
            gate = StartupGate(opened.app)
            gate.is_open = True
            server = Server(gate, listening, settings)
            running = Served(opened, server, listening.getsockname()[1])
            gate._app = running
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve_until_signal, anyio.CancelScope())
                await server.start_serving(opened.service)
                yield running
                server.should_exit = True


async def test_a_refusal_is_early_complete_and_keeps_the_connection(tmp_path: Path, small_book: Path) -> None:
    assert set(PATHS) == REQUESTS.keys(), "all requests that wait in the queue"
    async with served(tmp_path, small_book) as service:
        client = await service.connect()
        async with client.stream:
            async with service.full():
                for path in PATHS:
                    status, headers, body = await client.post(path, X_Request_ID="my-id")
                    ordinary = await service.opened.client.post(
                        path, json=REQUESTS[path], headers={"X-Request-ID": "my-id"}
                    )
                    assert (status, json.loads(body)) == (503, ordinary.json())
                    assert headers == {**ordinary.headers}
                assert service.reached == []
                for path in ("/health", "/health/live", "/metrics", "/books", "/", "/widget.js"):
                    assert await client.get(path) == 200
                assert (await client.post("/feedback"))[0] == 422, "only questions are refused"
            assert (await client.post("/search"))[0] == 200
        requests = service.opened.service.metrics.text().decode()
        assert 'bookwise_requests_total{method="POST",route="/search",status="503"} 2.0' in requests


async def test_the_body_of_a_refused_question_is_not_read_as_a_request(tmp_path: Path, small_book: Path) -> None:
    async with served(tmp_path, small_book) as service:
        client = await service.connect()
        async with client.stream:
            async with service.full():
                assert (await client.post("/search", parts=2))[0] == 503
                assert (await client.post("/search", parts=2))[0] == 503
                await _until_idle(service)
            assert (await client.post("/search"))[0] == 200


async def _until_idle(service: Served) -> None:
    """Waits until the connection has the deadline of an idle one, and no other."""
    (connection,) = service.server.config.waiting
    with anyio.fail_after(30):
        while connection._deadline or not connection.timeout_keep_alive_task:  # noqa: ASYNC110 - the server sets them
            await anyio.sleep(0.01)


async def test_a_body_that_never_comes_does_not_keep_its_connection(tmp_path: Path) -> None:
    async with served(tmp_path, None) as service, service.full():
        service.server.config.header_seconds = 0.05
        client = await service.connect()
        async with client.stream:
            await client.stream.send(_head("POST /search HTTP/1.1", {"Host": "x", "Content-Length": "9"}))
            assert (await client.response())[0] == 503
            with anyio.fail_after(30), pytest.raises(anyio.EndOfStream):
                await client.stream.receive()


async def test_a_client_that_wants_to_close_is_closed(tmp_path: Path) -> None:
    async with served(tmp_path, None) as service, service.full():
        client = await service.connect()
        async with client.stream:
            status, headers, _ = await client.post("/search", Connection="close")
            assert (status, headers["connection"]) == (503, "close")
            with anyio.fail_after(30), pytest.raises(anyio.EndOfStream):
                await client.stream.receive()


async def test_pages_of_allowed_origins_can_read_a_refusal(tmp_path: Path) -> None:
    async with served(tmp_path, None, is_open=False) as service, service.full():
        await service.opened.service.keys.create("page", "reader", origins=("https://other.example",))
        await service.opened.service.read_key_origins()
        client = await service.connect()
        async with client.stream:
            for origin in (PAGE, "https://other.example"):
                _, headers, _ = await client.post("/search", Origin=origin)
                assert headers["access-control-allow-origin"] == origin
                assert headers["vary"] == "Origin"
                assert "Retry-After" in headers["access-control-expose-headers"]
            _, headers, _ = await client.post("/search", Origin=OTHER_PAGE)
            assert "access-control-allow-origin" not in headers


async def test_callers_without_a_key_do_not_fill_the_queue(tmp_path: Path, small_book: Path) -> None:
    async with served(tmp_path, small_book, is_open=False) as service:
        key = await service.opened.key()
        client = await service.connect()
        async with client.stream:
            for _ in range(3 * AT_ONCE):
                assert (await client.post("/search", Authorization="Bearer wrong"))[0] in (401, 429)
                assert not service.opened.service.load_limit.is_full
            assert (await client.post("/search", **key))[0] == 200


async def test_refusals_are_logged_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(early_refusal, "LOG_SECONDS", 0.2)
    caplog.set_level(logging.WARNING, "bookwise.api")
    async with served(tmp_path, None) as service, service.full():
        client = await service.connect()
        async with client.stream:
            for _ in range(5):
                await client.post("/search")
        with anyio.fail_after(30):
            while sum(counts := _refused(caplog)) < 5:  # noqa: ASYNC110 - a timer logs it
                await anyio.sleep(0.01)
    assert len(counts) < 5


def _refused(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.__dict__["count"] for record in caplog.records if record.message == "questions.refused"]
