"""Two services on one PostgreSQL behave as one: what one of them decides, the other one knows."""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bookwise.wiring import open_app
from tests.api.test_stream import VALVE, asked, endless
from tests.support.apps import ingested, write_book
from tests.support.copies import copy_folder
from tests.support.databases import migrated_postgres, postgres  # noqa: F401 - fixtures
from tests.support.http_service import Exchange, Opened, exchange, http_service
from tests.support.postgres import Postgres
from tests.support.scripted_http import answering
from tests.support.scripted_model import dripping
from tests.support.small_book import BOOK, LESSONS, settings_for

pytestmark = pytest.mark.anyio

SECRET = "a webhook secret"


@pytest.fixture
def url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:  # noqa: F811
    with postgres.empty_database(like=migrated_postgres) as new:
        yield new


@asynccontextmanager
async def two_services(folder: Path, url: str, *, open_to_anyone: bool = False) -> AsyncIterator[tuple[Opened, Opened]]:
    """Each has a copy of the index, as both would see one index on a server."""
    async with answering(lambda _: dripping(endless(), pause=0.02)) as model:
        one, two = (
            settings_for(
                folder / name,
                model_url=model.url,
                embedder="hashing",
                database_url=url,
                github_webhook_secret=SECRET,
                github_repository="owner/book",
            )
            for name in ("one", "two")
        )
        async with open_app(one) as app:
            await ingested(app, write_book(folder / "book", LESSONS), book_id=BOOK)
        copy_folder(one.data_dir, two.data_dir)
        async with (
            http_service(one, open_to_anyone=open_to_anyone) as first,
            http_service(two, open_to_anyone=open_to_anyone) as second,
        ):
            yield first, second


async def test_one_key_has_one_rate_at_both_services(tmp_path: Path, url: str) -> None:
    statuses: Counter[int] = Counter()

    async def ask(service: Opened, headers: dict[str, str]) -> None:
        statuses[(await service.client.get("/books", headers=headers)).status_code] += 1

    async with two_services(tmp_path, url) as services:
        headers = await services[0].key(rate=100)
        async with anyio.create_task_group() as tasks:
            for number in range(240):
                tasks.start_soon(ask, services[number % 2], headers)
    assert statuses[200] == pytest.approx(100, rel=0.01)
    assert statuses[200] + statuses[429] == 240


async def test_a_key_that_one_service_revokes_ends_its_streams_at_the_other(tmp_path: Path, url: str) -> None:
    async with two_services(tmp_path, url) as (one, two):
        two.service.key_check_seconds = 3600.0
        key, secret = await one.service.keys.create("lost", "reader")
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            bearer = f"Bearer {secret}"
            tasks.start_soon(lambda: exchange(two.app, "/chat/stream", asked(), seen=seen, authorization=bearer))
            await seen.until("event: content")
            revoked = anyio.current_time()
            await one.service.keys.revoke(key.id)
            await seen.until("event: error")
            assert anyio.current_time() - revoked < 2
        assert json.loads(seen.body.decode().split("data: ")[-1])["code"] == "unauthenticated"
        answer = await two.client.get("/books", headers={"Authorization": bearer})
        assert answer.status_code == 401


async def test_the_first_key_closes_both_services(tmp_path: Path, url: str) -> None:
    async with two_services(tmp_path, url, open_to_anyone=True) as (one, two):
        assert (await two.client.get("/books")).status_code == 200
        created = anyio.current_time()
        await one.service.keys.create("the first", "reader")
        with anyio.fail_after(10):
            while two.service.open_to_anyone or one.service.open_to_anyone:  # noqa: ASYNC110 - it sends no event
                await anyio.sleep(0.01)
        assert anyio.current_time() - created < 2
        assert [(await service.client.get("/books")).status_code for service in (one, two)] == [401, 401]


async def test_open_streams_count_at_both_services(tmp_path: Path, url: str) -> None:
    async with two_services(tmp_path, url) as (one, two):
        _, secret = await one.service.keys.create("a key", "reader")
        bearer = f"Bearer {secret}"
        seen = [Exchange() for _ in range(10)]
        async with anyio.create_task_group() as tasks:
            for number, reader in enumerate(seen):
                service = (one, two)[number % 2]
                tasks.start_soon(
                    lambda app, reader: exchange(app, "/chat/stream", asked(), seen=reader, authorization=bearer),
                    service.app,
                    reader,
                )
            for reader in seen:
                await reader.until("event: content")
            for service in (one, two):
                refused = await service.client.post(
                    "/chat/stream", json={"message": VALVE}, headers={"Authorization": bearer}
                )
                assert refused.status_code == 429
            for reader in seen:
                reader.leave()


async def test_one_question_at_a_time_in_a_session_wherever_it_is_asked(tmp_path: Path, url: str) -> None:
    async with two_services(tmp_path, url, open_to_anyone=True) as (one, two):
        seen, session = Exchange(), "550e8400-e29b-41d4-a716-446655440000"
        async with anyio.create_task_group() as tasks:
            body = asked(session_id=session)
            tasks.start_soon(lambda: exchange(one.app, "/chat/stream", body, seen=seen))
            await seen.until("event: content")
            busy = await two.client.post("/chat/run", json={"message": VALVE, "session_id": session})
            assert (busy.status_code, busy.json()["code"]) == (409, "session-busy")
            seen.leave()


async def test_a_request_that_is_repeated_at_the_other_service_runs_once(tmp_path: Path, url: str) -> None:
    body = {"message": VALVE, "engine": "extractive"}
    repeated = {"Idempotency-Key": '"once"'}
    async with two_services(tmp_path, url, open_to_anyone=True) as (one, two):
        first = await one.client.post("/chat/run", json=body, headers=repeated)
        second = await two.client.post("/chat/run", json=body, headers=repeated)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert first.json() == second.json()


async def test_a_signed_body_that_arrives_at_both_services_is_handled_once(tmp_path: Path, url: str) -> None:
    body = b'{"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}}'
    signature = f"sha256={hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}"
    outcomes: Counter[str] = Counter()

    async def deliver(service: Opened, number: int) -> None:
        headers = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": f"delivery-{number}",
            "X-Hub-Signature-256": signature,
        }
        answer = await service.client.post("/ingestion/webhook/github", content=body, headers=headers)
        outcomes[answer.json()["outcome"]] += 1

    async with two_services(tmp_path, url) as services:
        before = len(await services[0].service.app.jobs.jobs(limit=100))
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(deliver, services[number % 2], number)
        assert len(await services[0].service.app.jobs.jobs(limit=100)) == before + 1
    assert outcomes == {"accepted": 1, "duplicate": 19}
