"""Whether the service works, what it is, and what it did."""

import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bookwise import __version__
from tests.support.http_service import Opened, exchange, http_service
from tests.support.postgres import running_postgres
from tests.support.scripted_http import Reply, answering, scripted
from tests.support.scripted_model import says
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

VALVE = {"message": "When does the irrigation valve open?"}
SECRET = "sk-a-secret-that-nobody-may-read-0123456789"


async def test_health_names_each_dependency_with_its_latency_and_needs_no_key(locked: Opened) -> None:
    answer = await locked.client.get("/health")
    assert answer.status_code == 200
    told = answer.json()
    assert (told["live"], told["ready"]) == (True, True)
    assert set(told["dependencies"]) == {"index", "database", "books", "embedder", "disk"}
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


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
async def test_a_database_that_is_away_is_named_without_its_address(tmp_path: Path, path: str) -> None:
    with running_postgres() as server, server.new_database() as url:
        settings = settings_for(tmp_path / "data", embedder="hashing", database_url=url)
        async with http_service(settings) as opened:
            assert (await opened.client.get(path)).status_code == 200
            server.stop()
            opened.app.state.health_checks._results.clear()
            answer = await opened.client.get(path)
            live = await opened.client.get("/health/live")
            refused = await opened.client.get("/books")
            server.start()
            again = await opened.client.get(path)
    assert (live.status_code, live.json()) == (200, {"live": True})
    assert answer.status_code == 503
    states = {name: (found["ok"], found["code"]) for name, found in answer.json()["dependencies"].items()}
    away, well = (False, "store-unavailable"), (True, None)
    assert states == {"database": away, "books": away, "index": well, "embedder": well, "disk": well}
    assert urlsplit(url).path not in answer.text
    assert (refused.status_code, refused.json()["code"]) == (503, "store-unavailable")
    assert again.status_code == 200, "it is found again by itself"


async def test_a_model_that_keeps_failing_is_named_and_the_service_is_ready(tmp_path: Path, small_book: Path) -> None:
    async with answering(lambda _: Reply(status=400)) as broken:
        settings = settings_for(tmp_path / "data", model_url=broken.url)
        async with http_service(settings, small_book) as opened:
            before = (await opened.client.get("/health")).json()["dependencies"]["model"]
            for _ in range(5):
                opened.service.kit.model._breaker.settle(0, "failed")  # type: ignore[union-attr]
            answer = await opened.client.get("/health")
    assert before == {"ok": True, "latency_ms": None, "code": None, "kind": None, "required": False}
    assert (answer.status_code, answer.json()["ready"]) == (200, True), "answers quote the book instead"
    assert answer.json()["dependencies"]["model"]["code"] == "circuit-open"


async def test_the_latency_of_the_model_is_that_of_its_newest_response(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(says("The valve opens below 30 percent. [1]")) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        await opened.client.post("/chat/run", json=VALVE)
        found = (await opened.client.get("/health")).json()["dependencies"]["model"]
    assert found["ok"]
    assert found["latency_ms"] > 0


async def test_asking_for_health_again_and_again_costs_nothing(empty: Opened) -> None:
    first, second = [(await empty.client.get("/health")).json() for _ in range(2)]
    assert first == second, "the latencies are those of the first check"


async def test_a_service_that_stops_is_not_ready_but_lives_and_answers(empty: Opened) -> None:
    empty.service.draining = True
    for path in ("/health", "/health/ready"):
        answer = await empty.client.get(path)
        assert (answer.status_code, answer.json()["live"]) == (503, True)
    assert (await empty.client.get("/health/live")).status_code == 200
    assert (await empty.client.get("/books")).status_code == 200


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
