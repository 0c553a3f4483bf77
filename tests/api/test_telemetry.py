"""Telemetry: what a real exporter sends to a collector on loopback, and that without one there is nothing."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.api.test_stream import TRUE, VALVE
from tests.support.collector import Collector, collecting
from tests.support.http_service import Opened, http_service
from tests.support.scripted_http import scripted
from tests.support.scripted_model import refuses, says
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CONTINUED = {"traceparent": f"00-{TRACE}-{CALLER}-01"}


@asynccontextmanager
async def observed(tmp_path: Path, small_book: Path, **settings: Any) -> AsyncIterator[tuple[Opened, Collector]]:
    """The service, and a collector that has everything once the service is closed."""
    async with collecting() as collector:
        known = settings_for(tmp_path / "data", otel_endpoint=collector.url, **settings)
        async with http_service(known, small_book) as opened:
            yield opened, collector


async def asked(opened: Opened, message: str = VALVE, **more: Any) -> dict[str, Any]:
    response = await opened.client.post("/chat/run", json={"message": message, **more}, headers=CONTINUED)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_an_answer_without_a_model_is_a_request_a_retrieval_and_an_embedding(
    tmp_path: Path, small_book: Path
) -> None:
    async with observed(tmp_path, small_book) as (opened, collector):
        told = await asked(opened)
    assert {span.name for span in collector.spans} == {
        "POST /chat/run",
        "retrieval book",
        "embeddings all-MiniLM-L6-v2",
    }
    request, retrieval = collector.one("POST /chat/run"), collector.one("retrieval book")
    embeddings = collector.one("embeddings all-MiniLM-L6-v2")
    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert (request.parent_id, retrieval.parent_id, embeddings.parent_id) == (CALLER, request.id, retrieval.id)
    assert (request.kind, retrieval.kind, embeddings.kind) == ("SERVER", "INTERNAL", "INTERNAL")
    assert request.start <= retrieval.start <= embeddings.start <= embeddings.end <= retrieval.end <= request.end
    assert request.attributes["http.route"] == "/chat/run"
    assert request.attributes["http.request.method"] == "POST"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["bookwise.outcome"] == "answered"
    assert request.attributes["gen_ai.conversation.id"] == told["session_id"]
    assert retrieval.attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "book",
        "gen_ai.retrieval.top_k": 5,
        "gen_ai.conversation.id": told["session_id"],
    }
    assert embeddings.attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "bookwise",
        "gen_ai.request.model": "all-MiniLM-L6-v2",
        "gen_ai.embeddings.dimension.count": 384,
    }
    assert collector.resources[0]["service.name"] == "bookwise"


async def test_an_answer_of_a_model_names_model_tokens_and_thread(tmp_path: Path, small_book: Path) -> None:
    async with scripted(says(TRUE, tokens=(11, 7))) as model:
        async with observed(tmp_path, small_book, model_url=model.url, openai_model="a-model") as (opened, collector):
            told = await asked(opened)
        port = model.port
    request, chat = collector.one("POST /chat/run"), collector.one("chat a-model")
    assert (chat.parent_id, chat.kind, chat.failed) == (request.id, "CLIENT", False)
    assert collector.one("retrieval book").end <= chat.start <= chat.end <= request.end
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "a-model",
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.conversation.id": told["session_id"],
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    tokens = collector.figures["gen_ai.client.token.usage"]
    assert {(point.attributes["gen_ai.token.type"], point.total) for point in tokens} == {("input", 11), ("output", 7)}
    operations = collector.figures["gen_ai.client.operation.duration"]
    assert {point.attributes["gen_ai.operation.name"] for point in operations} == {"retrieval", "embeddings", "chat"}
    (requests,) = collector.figures["http.server.request.duration"]
    assert (requests.count, requests.attributes["http.route"]) == (1, "/chat/run")
    assert requests.attributes["http.response.status_code"] == 200


async def test_the_agent_is_one_invocation(tmp_path: Path, small_book: Path) -> None:
    async with scripted(says(TRUE)) as model:
        settings = {"model_url": model.url, "engine": "agent", "openai_model": "a-model"}
        async with observed(tmp_path, small_book, **settings) as (opened, collector):
            await asked(opened)
    agent = collector.one("invoke_agent bookwise")
    assert agent.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert agent.attributes["gen_ai.agent.name"] == "bookwise"
    assert agent.attributes["gen_ai.request.model"] == "a-model"
    assert agent.attributes["gen_ai.usage.input_tokens"] == 11


async def test_a_model_that_fails_is_a_span_that_failed(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(refuses(401)) as model,
        observed(tmp_path, small_book, model_url=model.url, openai_model="a-model") as (opened, collector),
    ):
        told = await asked(opened)
    chat = collector.one("chat a-model")
    assert chat.failed
    assert chat.attributes["error.type"] == told["degraded"]
    assert "gen_ai.usage.input_tokens" not in chat.attributes
    assert not collector.one("POST /chat/run").failed


async def test_neither_question_nor_passage_nor_answer_leaves_the_service(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(says(TRUE)) as model,
        observed(tmp_path, small_book, model_url=model.url) as (opened, collector),
    ):
        await asked(opened)
        await opened.client.post("/search", json={"text": "a capacitive sensor"})
        await opened.client.get("/lesson/capacitive?why=capacitive")
        await opened.client.post("/chat/stream", json={"message": VALVE, "engine": "extractive"})
    assert len([span for span in collector.spans if span.kind == "SERVER"]) == 4
    for words in (b"irrigation", b"moisture", b"apacitive"):
        assert words not in collector.raw


async def test_texts_are_sent_where_they_were_asked_for(tmp_path: Path, small_book: Path) -> None:
    async with scripted(says(TRUE)) as model:
        settings = {"model_url": model.url, "openai_model": "a-model", "otel_texts": True}
        async with observed(tmp_path, small_book, **settings) as (opened, collector):
            await asked(opened)
    retrieval, chat = collector.one("retrieval book").attributes, collector.one("chat a-model").attributes
    assert retrieval["gen_ai.retrieval.query.text"] == VALVE
    (best, *_) = json.loads(retrieval["gen_ai.retrieval.documents"])
    assert "The irrigation valve opens" in best["content"]
    assert set(best) == {"id", "score", "content"}
    (question,) = json.loads(chat["gen_ai.input.messages"])
    assert question == {"role": "user", "parts": [{"type": "text", "content": VALVE}]}
    (answer,) = json.loads(chat["gen_ai.output.messages"])
    assert answer["parts"][0]["content"] == TRUE.strip()
    assert answer["finish_reason"] == "stop"


async def test_searches_streams_tools_and_openai_clients_are_observed_too(tmp_path: Path, small_book: Path) -> None:
    async with observed(tmp_path, small_book) as (opened, collector):
        message = [{"role": "user", "content": VALVE}]
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        accepts = {"Accept": "application/json, text/event-stream"}
        for path, body in (
            ("/search", {"text": VALVE}),
            ("/chat/stream", {"message": VALVE}),
            ("/v1/chat/completions", {"model": "bookwise", "messages": message}),
            ("/mcp", {**call, "params": {"name": "ask", "arguments": {"question": VALVE}}}),
        ):
            response = await opened.client.post(path, json=body, headers=accepts)
            assert response.status_code == 200, response.text
    requests = {span.id: span.name for span in collector.spans if span.kind == "SERVER"}
    retrievals = [requests.get(span.parent_id) for span in collector.spans if span.name == "retrieval book"]
    assert sorted(map(str, retrievals)) == [
        "POST /chat/stream",
        "POST /mcp",
        "POST /search",
        "POST /v1/chat/completions",
    ]


async def test_a_problem_has_its_status_and_an_unknown_address_no_route(tmp_path: Path, small_book: Path) -> None:
    async with observed(tmp_path, small_book) as (opened, collector):
        await opened.client.post("/search", json={"text": ""})
        await opened.client.get("/somewhere/else?token=abc")
    assert collector.one("POST /search").attributes["http.response.status_code"] == 422
    lost = collector.one("GET")
    assert "http.route" not in lost.attributes
    assert b"somewhere" not in collector.raw
    assert not any(span.failed for span in collector.spans)


@pytest.mark.slow
async def test_a_collector_that_is_down_or_silent_holds_nobody_up(tmp_path: Path, small_book: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with http_service(settings_for(tmp_path / "data", otel_endpoint=endpoint), small_book) as opened:
            await asked(opened)
            began = anyio.current_time()
        assert anyio.current_time() - began < 10
    async with http_service(settings_for(tmp_path / "again", otel_endpoint=endpoint), small_book) as opened:
        await asked(opened)
        began = anyio.current_time()
    assert anyio.current_time() - began < 10


PROGRAM = """
import sys, threading
import anyio, httpx2
from bookwise.api.app import create_app
from bookwise.settings import load_settings

async def main():
    app = create_app(load_settings())
    async with app.router.lifespan_context(app):
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
            assert (await client.get("/health")).status_code == 200
            assert (await client.get("/openapi.json")).status_code == 200
        names = [thread.name for thread in threading.enumerate()]
    loaded = [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter", "mcp."))]
    print(loaded, [name for name in names if "Otel" in name])

anyio.run(main)
"""


@pytest.mark.slow
def test_without_a_collector_or_an_mcp_request_their_libraries_are_not_loaded(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    environment |= {"BOOKWISE_DATA_DIR": str(tmp_path / "data"), "BOOKWISE_EMBEDDER": "hashing"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[] []"


@pytest.mark.slow
def test_a_collector_without_the_extra_is_refused_with_the_command_that_installs_it(tmp_path: Path) -> None:
    absent = "import sys; sys.modules['opentelemetry.sdk'] = None\n"
    program = f"{absent}from bookwise.cli.main import run; sys.argv = ['bookwise', 'serve', '--port', '0']; run()"
    environment = {**os.environ, "BOOKWISE_DATA_DIR": str(tmp_path / "data"), "BOOKWISE_EMBEDDER": "hashing"}
    environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:4318"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 6, done.stderr
    assert "pip install 'bookwise[telemetry]'" in done.stderr
    assert "Traceback" not in done.stderr
