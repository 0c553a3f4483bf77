"""`bookwise serve` as a process: the wire, readers who leave, signals, and where it may listen."""

import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL

import anyio
import httpx2
import psycopg
import pytest
from anyio.abc import Process, SocketStream

from bookwise.adapters.sql.migrate import ADVISORY_LOCK
from bookwise.api.serve import bound
from bookwise.domain.threads import ThreadMessage
from bookwise.wiring import open_app
from tests.api.test_stream import TRUE, VALVE, endless, hung_up_on
from tests.support.copies import copy_folder
from tests.support.http_service import Event, events_in
from tests.support.postgres import running_postgres
from tests.support.program import PROGRAM, environment
from tests.support.scripted_http import scripted
from tests.support.scripted_model import KEY, dripping
from tests.support.serve_process import Served, serving
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@asynccontextmanager
async def asking(served: Served, path: str = "/chat/stream", **asked: object) -> AsyncIterator[SocketStream]:
    """A question on a bare connection."""
    body = json.dumps({"message": VALVE, **asked})
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    async with await anyio.connect_tcp("127.0.0.1", served.port) as connection:
        await connection.send(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        yield connection


async def read(connection: SocketStream, until: bytes | None = None) -> bytes:
    """Everything up to these bytes, or up to the end."""
    received = b""
    with anyio.fail_after(30):
        while until is None or until not in received:
            try:
                received += await connection.receive()
            except anyio.EndOfStream:
                break
    return received


def transcript(received: bytes) -> tuple[str, list[Event]]:
    """The head and the events of a chunked response that came to its end."""
    head, _, rest = received.partition(b"\r\n\r\n")
    body = b""
    while not rest.startswith(b"0\r\n\r\n"):
        length, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(length, 16)], rest[int(length, 16) + 2 :]
    return head.decode().lower(), events_in(body.decode())


async def saved(served: Served, session_id: str) -> dict[str, object]:
    """The session's newest message, once it has words."""
    async with httpx2.AsyncClient(base_url=served.url) as client:
        with anyio.fail_after(10):
            while True:
                message: dict[str, object] = (await client.get(f"/session/{session_id}")).json()["messages"][-1]
                if message["content"]:
                    return message
                await anyio.sleep(0.02)


async def kept(data: Path, session_id: str) -> ThreadMessage:
    async with open_app(settings_for(data)) as app:
        return (await app.threads.thread(session_id)).messages[-1]


@pytest.fixture
def data(tmp_path: Path, small_book: Path) -> Path:
    return copy_folder(small_book, tmp_path / "data")


async def test_a_stream_over_the_wire_is_whole_and_ends_once(data: Path) -> None:
    async with serving(data) as served:
        assert "on this machine only" in served.log
        async with asking(served) as connection:
            head, events = transcript(await read(connection))
    assert head.startswith("http/1.1 200")
    assert "x-accel-buffering: no" in head
    assert "server:" not in head
    names = [event.name for event in events]
    assert names[:2] == ["tool_call", "retrieval"]
    assert names[-1] == "done"
    assert [name for name in names if name in ("done", "error")] == ["done"]
    assert "below 30 percent" in events[-1].data["response"]


async def test_a_reader_who_closes_the_connection_stops_the_model_and_keeps_what_was_said(data: Path) -> None:
    async with (
        scripted(dripping(endless(), pause=0.02)) as model,
        serving(data, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model.url}/v1") as served,
    ):
        async with asking(served) as connection:
            received = await read(connection, b"event: content")
        await hung_up_on(model, within=2)
        session_id = re.findall(r"x-session-id: (\S+)", received.decode().lower())[0]
        message = await saved(served, session_id)
    assert (message["content"], message["complete"]) == (TRUE, False)


async def test_a_service_that_is_told_to_stop_ends_its_streams_keeps_them_and_leaves(data: Path) -> None:
    async with (
        scripted(dripping(endless(), pause=0.02)) as model,
        serving(data, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model.url}/v1") as served,
        asking(served) as connection,
    ):
        received = await read(connection, b"event: content")
        served.process.send_signal(signal.SIGTERM)
        _, events = transcript(received + await read(connection))
        with anyio.fail_after(20):
            assert await served.process.wait() == 0
    assert [event.name for event in events if event.name in ("done", "error")] == ["error"]
    assert events[-1].data["code"] == "shutting-down"
    message = await kept(data, events[-1].data["session_id"])
    assert (message.content, message.complete) == (TRUE, False)


async def test_a_service_that_drains_answers_and_says_that_it_is_not_ready(data: Path) -> None:
    async with (
        scripted(dripping(endless(), pause=0.02)) as model,
        serving(data, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model.url}/v1", BOOKWISE_DRAIN_SECONDS="600") as served,
        asking(served) as connection,
        httpx2.AsyncClient(base_url=served.url) as client,
    ):
        received = await read(connection, b"event: content")
        assert (await client.get("/health/ready")).status_code == 200
        served.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(10):
            while (await client.get("/health/ready")).status_code == 200:  # noqa: ASYNC110 - what a load balancer does
                await anyio.sleep(0.01)
        assert (await client.get("/health/live")).status_code == 200
        answer = await client.post("/chat/run", json={"message": VALVE, "engine": "extractive"})
        assert "below 30 percent" in answer.json()["response"]
        assert model._at_once, "the stream goes on"
        served.process.send_signal(signal.SIGTERM)
        _, events = transcript(received + await read(connection))
        with anyio.fail_after(20):
            assert await served.process.wait() == 0
    assert events[-1].data["code"] == "shutting-down"


async def test_while_the_database_is_migrated_the_process_lives_and_is_not_ready(tmp_path: Path) -> None:
    with running_postgres() as server, server.new_database() as url:
        async with (
            await psycopg.AsyncConnection.connect(url) as other,
            opening(tmp_path / "data", url) as (process, client),
        ):
            await other.execute(str(ADVISORY_LOCK))  # as another process that migrates for long
            with anyio.fail_after(30):
                while not await is_live(client):
                    assert process.returncode is None
                    await anyio.sleep(0.05)
            for path, code in (("/health/ready", None), ("/health", None), ("/books", "starting")):
                answer = await client.get(path)
                assert (answer.status_code, answer.json().get("code")) == (503, code), path
            await other.rollback()
            with anyio.fail_after(30):
                while (await client.get("/health/ready")).status_code != 200:  # noqa: ASYNC110 - what a balancer does
                    await anyio.sleep(0.05)


async def test_a_signal_while_the_service_starts_ends_it_without_a_failure(tmp_path: Path) -> None:
    with running_postgres() as server, server.new_database() as url:
        async with (
            await psycopg.AsyncConnection.connect(url) as other,
            opening(tmp_path / "data", url) as (process, client),
        ):
            await other.execute(str(ADVISORY_LOCK))
            with anyio.fail_after(30):
                while not await is_live(client):
                    assert process.returncode is None
                    await anyio.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            await anyio.sleep(0.5)
            await other.rollback()
            with anyio.fail_after(30):
                assert await process.wait() == 0


@asynccontextmanager
async def opening(data: Path, url: str) -> AsyncIterator[tuple[Process, httpx2.AsyncClient]]:
    """The program while it starts, on a port that is known before."""
    with bound("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [PROGRAM, "serve", "--port", str(port)]
    more = {"DATABASE_URL": url, "BOOKWISE_EMBEDDER": "hashing"}
    async with (
        await anyio.open_process(command, env=environment(data, **more), stderr=DEVNULL) as process,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        try:
            yield process, client
        finally:
            if process.returncode is None:
                process.kill()


async def is_live(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/health/live")).json() == {"live": True}
    except httpx2.ConnectError:
        return False


async def test_a_service_without_streams_stops_at_once(data: Path) -> None:
    async with serving(data) as served:
        served.process.send_signal(signal.SIGINT)
        with anyio.fail_after(5):
            assert await served.process.wait() == 0


async def test_without_keys_it_refuses_to_listen_to_the_world(data: Path) -> None:
    refused = await anyio.run_process(
        [PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0"], env=environment(data), check=False
    )
    assert refused.returncode == 6
    assert b"bookwise keys create" in refused.stderr
    assert b"Traceback" not in refused.stderr


async def test_with_a_key_it_listens_to_the_world_and_asks_for_it(data: Path) -> None:
    async with open_app(settings_for(data)) as app:
        _, secret = await app.keys.create("a key", "reader")
    async with serving(data, "--host", "0.0.0.0") as served:
        assert "on this machine only" not in served.log
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{served.port}") as client:
            assert (await client.get("/books")).status_code == 401
            assert (await client.get("/books", headers={"Authorization": f"Bearer {secret}"})).status_code == 200
            assert (await client.get("/health")).status_code == 200


async def test_a_service_that_had_a_key_stays_closed_when_the_last_one_is_revoked(data: Path) -> None:
    async with open_app(settings_for(data)) as app:
        key, secret = await app.keys.create("a key", "admin")
        await app.keys.revoke(key.id)
    async with serving(data) as served, httpx2.AsyncClient(base_url=served.url) as client:
        assert "on this machine only" not in served.log
        for headers in ({}, {"Authorization": f"Bearer {secret}"}):
            assert (await client.get("/books", headers=headers)).status_code == 401


async def test_a_port_that_is_taken_is_named(data: Path) -> None:
    async with serving(data) as served:
        second = await anyio.run_process(
            [PROGRAM, "serve", "--port", str(served.port)], env=environment(data.parent / "other"), check=False
        )
    assert second.returncode == 6
    assert str(served.port).encode() in second.stderr


async def test_a_data_folder_that_is_served_is_busy_for_others(data: Path) -> None:
    async with serving(data) as served:
        second = await anyio.run_process([PROGRAM, "serve", "--port", "0"], env=environment(data), check=False)
    assert second.returncode == 4
    assert str(served.process.pid).encode() in second.stderr


async def test_a_body_without_end_is_cut_off_at_the_limit(data: Path) -> None:
    async with (
        serving(data, BOOKWISE_BODY_LIMIT_BYTES="4096") as served,
        await anyio.connect_tcp("127.0.0.1", served.port) as connection,
    ):
        head = "POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        await connection.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        await connection.send((b"1000\r\n" + b"x" * 4096 + b"\r\n") * 3)
        received = await read(connection, b"payload-too-large")
    assert received.startswith(b"HTTP/1.1 413")
