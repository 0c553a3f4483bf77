"""SIGKILL of a service that is answering: its sessions can be used again at once, or when it says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from bookwise.domain.threads import LEASE_SECONDS
from bookwise.wiring import open_app
from tests.api.test_stream import VALVE, endless
from tests.support.apps import ingested, write_book
from tests.support.postgres import Postgres
from tests.support.scripted_http import answering
from tests.support.scripted_model import dripping
from tests.support.serve_process import Served, serving
from tests.support.small_book import BOOK, KEY, LESSONS, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SESSION = "550e8400-e29b-41d4-a716-446655440000"
QUICK: dict[str, Any] = {"message": VALVE, "session_id": SESSION, "engine": "extractive"}
REPEATED = {"Idempotency-Key": '"once"'}


@asynccontextmanager
async def service(data: Path, model_url: str, **more: str) -> AsyncIterator[tuple[Served, httpx2.AsyncClient]]:
    model = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{model_url}/v1", "BOOKWISE_EMBEDDER": "hashing"}
    async with serving(data, **model, **more) as served, httpx2.AsyncClient(base_url=served.url, timeout=60) as client:
        yield served, client


async def kill_while_answering(data: Path, model_url: str, **more: str) -> None:
    async with service(data, model_url, **more) as (served, client):
        body = {"message": VALVE, "session_id": SESSION}
        async with client.stream("POST", "/chat/stream", json=body, headers=REPEATED) as answer:
            lines = answer.aiter_lines()  # kept: the end of the iterator would close the connection
            while await anext(lines) != "event: content":
                pass
            busy = await client.post("/chat/run", json=QUICK)
            assert (busy.status_code, busy.json()["code"]) == (409, "session-busy")
            assert 1 <= int(busy.headers["retry-after"]) <= LEASE_SECONDS
            served.process.kill()
            await served.process.wait()


async def history(client: httpx2.AsyncClient) -> list[tuple[str, bool]]:
    messages = (await client.get(f"/session/{SESSION}/history")).json()["messages"]
    return [(message["role"], message.get("complete", True)) for message in messages]


async def test_after_a_restart_the_session_is_not_busy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with open_app(settings_for(data, embedder="hashing")) as app:
        await ingested(app, write_book(tmp_path / "book", LESSONS), book_id=BOOK)
    async with answering(lambda _: dripping(endless(), pause=0.02)) as model:
        await kill_while_answering(data, model.url)
        async with service(data, model.url) as (_, client):
            assert (await client.post("/chat/run", json=QUICK)).status_code == 200
            assert await history(client) == [
                ("user", True),
                ("assistant", False),
                ("user", True),
                ("assistant", True),
            ]
            body = {"message": VALVE, "session_id": SESSION}
            async with client.stream("POST", "/chat/stream", json=body, headers=REPEATED) as again:
                assert again.status_code == 200, "the key of a request that was cut off can be used again"
                assert "idempotent-replayed" not in again.headers


async def test_on_postgresql_the_session_is_free_when_the_service_says(
    tmp_path: Path, postgres: Postgres, migrated_postgres: str
) -> None:
    data = tmp_path / "data"
    with postgres.new_database(like=migrated_postgres) as url:
        async with open_app(settings_for(data, embedder="hashing", database_url=url)) as app:
            await ingested(app, write_book(tmp_path / "book", LESSONS), book_id=BOOK)
        async with answering(lambda _: dripping(endless(), pause=0.02)) as model:
            await kill_while_answering(data, model.url, DATABASE_URL=url)
            async with service(data, model.url, DATABASE_URL=url) as (_, client):
                first = await client.post("/chat/run", json=QUICK)
                if first.status_code == 409:  # unless the start took longer than the lease
                    wait = int(first.headers["retry-after"])
                    assert wait <= LEASE_SECONDS
                    await anyio.sleep(wait)
                    first = await client.post("/chat/run", json=QUICK)
                assert first.status_code == 200
                assert len(await history(client)) == 4
