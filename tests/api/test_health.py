"""Whether the service works, what it is, and what it did."""

import sqlite3
from pathlib import Path

import pytest

from bookwise import __version__
from tests.support.http_service import Opened, exchange, http_service
from tests.support.scripted_http import Reply, answering
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

VALVE = {"message": "When does the irrigation valve open?"}
SECRET = "sk-a-secret-that-nobody-may-read-0123456789"


async def test_health_names_each_dependency_with_its_latency_and_needs_no_key(locked: Opened) -> None:
    answer = await locked.client.get("/health")
    assert answer.status_code == 200
    told = answer.json()
    assert (told["live"], told["ready"]) == (True, True)
    assert set(told["dependencies"]) == {"index", "database", "embedder"}
    assert all(found["ok"] and found["latency_ms"] >= 0 for found in told["dependencies"].values())


async def test_a_service_whose_embedder_fails_is_live_but_not_ready(tmp_path: Path) -> None:
    async with answering(lambda _: Reply(status=400)) as broken:
        settings = settings_for(
            tmp_path / "data", embedder="openai", openai_api_key=SECRET, openai_base_url=f"{broken.url}/v1"
        )
        async with http_service(settings) as opened:
            answer = await opened.client.get("/health")
    assert answer.status_code == 503
    told = answer.json()
    assert (told["live"], told["ready"]) == (True, False)
    assert told["dependencies"]["embedder"]["ok"] is False
    assert told["dependencies"]["embedder"]["code"] == "embedder-unavailable"
    assert told["dependencies"]["database"]["ok"] is True


async def test_asking_for_health_again_and_again_costs_nothing(empty: Opened) -> None:
    first, second = [(await empty.client.get("/health")).json() for _ in range(2)]
    assert first == second, "the latencies are those of the first check"


async def test_a_service_that_stops_is_not_ready(empty: Opened) -> None:
    empty.service.stopping.set()
    answer = await empty.client.get("/health")
    assert (answer.status_code, answer.json()["live"]) == (503, True)


async def test_info_tells_versions_models_and_counts_and_no_secret(tmp_path: Path, small_book: Path) -> None:
    database = f"sqlite:///{tmp_path}/data/bookwise.db"
    settings = settings_for(tmp_path / "data", openai_api_key=SECRET, database_url=database)
    async with http_service(settings, small_book) as opened:
        answer = await opened.client.get("/info")
        schema = await opened.client.get("/openapi.json")
    told = answer.json()
    assert (told["version"], told["engine"]) == (__version__, "direct")
    assert told["models"]["embedder"] == "all-MiniLM-L6-v2"
    assert told["models"]["language_model"] == "gpt-4o-mini"
    for text in (answer.text, schema.text):
        assert SECRET not in text
        assert str(tmp_path) not in text


async def test_info_counts_only_what_the_caller_may_see(locked: Opened) -> None:
    mine, theirs = [
        (await locked.client.get("/info", headers=await locked.key(book))).json()["counts"]
        for book in ("book", "other")
    ]
    assert mine == {"books": 1, "lessons": 3, "chunks": 8}
    assert theirs == {"books": 0, "lessons": 0, "chunks": 0}


async def test_the_figures_count_requests_answers_and_streams(opened: Opened) -> None:
    await opened.client.post("/chat/run", json=VALVE)
    await opened.client.get("/session/550e8400-e29b-41d4-a716-446655440000")
    await opened.client.get("/nowhere/to/be/found")
    text = (await opened.client.get("/metrics")).text
    assert 'bookwise_requests_total{method="POST",route="/chat/run",status="200"} 1.0' in text
    assert 'bookwise_requests_total{method="GET",route="/session/{session_id}",status="404"} 1.0' in text
    assert 'bookwise_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'bookwise_answers_total{engine="extractive",outcome="answered"} 1.0' in text
    assert "bookwise_open_streams 0.0" in text
    assert "550e8400" not in text


async def test_two_services_count_apart(opened: Opened, tmp_path: Path) -> None:
    await opened.client.get("/books")
    async with http_service(settings_for(tmp_path / "other", embedder="hashing")) as other:
        assert "/books" not in (await other.client.get("/metrics")).text


async def test_what_the_service_did_is_for_admins(locked: Opened) -> None:
    assert (await locked.client.get("/metrics")).status_code == 401
    assert (await locked.client.get("/metrics", headers=await locked.key())).status_code == 403
    assert (await locked.client.get("/metrics", headers=await locked.key(role="admin"))).status_code == 200
    assert (await locked.client.get("/info")).status_code == 401


async def test_there_is_no_page_that_loads_scripts_from_elsewhere(empty: Opened) -> None:
    for path in ("/docs", "/redoc"):
        assert (await empty.client.get(path)).status_code == 404


@pytest.mark.slow
async def test_a_locked_database_is_told_as_such(opened: Opened, tmp_path: Path) -> None:
    session = (await opened.client.post("/chat/run", json=VALVE)).json()["session_id"]
    with sqlite3.connect(tmp_path / "data" / "bookwise.db") as holder:
        holder.execute("BEGIN EXCLUSIVE")
        seen = await exchange(opened.app, f"/session/{session}", method="DELETE")
        holder.rollback()
    assert seen.status == 503
    assert b"store-unavailable" in seen.body
    assert "retry-after" in seen.headers
