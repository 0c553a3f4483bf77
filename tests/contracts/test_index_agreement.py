"""The same book in the process and on a server: the same ranking, the same scores, and few round trips."""

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import httpx
import pytest

from bookwise.answering.ask import ask
from bookwise.domain.answers import Question
from bookwise.domain.search import SearchResult
from bookwise.settings import Settings
from bookwise.wiring import App, open_answers, open_app
from tests.support.apps import SAMPLE_BOOK, found, ingested
from tests.support.copies import copy_folder
from tests.support.embedders import shared_embedder
from tests.support.index_backends import live_settings
from tests.support.qdrant_loopback import LoopbackServer, qdrant_loopback

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTIONS = [entry["text"] for entry in tomllib.loads((SAMPLE_BOOK / "bookwise.toml").read_text())["questions"]]
NETWORK_SECONDS = 0.1  #: requests at the same time meet on the loopback, even on a busy machine


@asynccontextmanager
async def sample_app(data: Path, vectors: Path, **more: object) -> AsyncIterator[App]:
    """The sample book, ingested with its cached vectors."""
    copy_folder(vectors, data)
    settings = Settings(data_dir=data, **more)  # type: ignore[arg-type]
    async with open_app(settings, embedder=shared_embedder(settings)) as app:
        await ingested(app, SAMPLE_BOOK)
        yield app


OnLoopback: TypeAlias = tuple[LoopbackServer, App]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def on_loopback(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> AsyncIterator[OnLoopback]:
    """The sample book on a loopback, which takes seconds to fill."""
    data = tmp_path_factory.mktemp("loopback") / "data"
    async with qdrant_loopback() as server, sample_app(data, sample_vectors, qdrant_url=server.url) as app:
        yield server, app


def ranking(result: SearchResult) -> list[str]:
    return [hit.chunk.id for hit in result.hits]


def scores(result: SearchResult) -> list[float]:
    return [value for hit in result.hits for value in (hit.score, hit.cosine, hit.lexical, hit.strength)]


async def compare(embedded: App, server: App, questions: list[str]) -> None:
    for text in questions:
        expected, actual = await found(embedded, text), await found(server, text)
        assert ranking(actual) == ranking(expected), text
        assert scores(actual) == pytest.approx(scores(expected), abs=1e-3), text


async def test_a_loopback_ranks_like_the_engine_in_the_process(
    tmp_path: Path, sample_vectors: Path, on_loopback: OnLoopback
) -> None:
    async with sample_app(tmp_path / "embedded", sample_vectors) as embedded:
        await compare(embedded, on_loopback[1], QUESTIONS[::4])  # a search on the loopback takes 50 ms


@pytest.mark.live
async def test_a_server_ranks_like_the_engine_in_the_process(tmp_path: Path, sample_vectors: Path) -> None:
    async with (
        live_settings() as on_server,
        sample_app(tmp_path / "embedded", sample_vectors) as embedded,
        sample_app(tmp_path / "server", sample_vectors, **on_server) as remote,
    ):
        await compare(embedded, remote, QUESTIONS)


async def waits_for(server: LoopbackServer, app: App, text: str) -> tuple[int, int]:
    """The round trips of a search and of an answer."""
    server.trips()
    await found(app, text)
    search = server.waits
    async with open_answers(app.settings, app.search_kit) as kit:
        server.trips()
        assert [event async for event in ask(Question(text=text, book_id="book"), kit)]
        return search, server.waits


async def test_a_question_costs_few_round_trips(on_loopback: OnLoopback, monkeypatch: pytest.MonkeyPatch) -> None:
    server, app = on_loopback
    await found(app, QUESTIONS[0])  # the first search of a process also compares the index with the catalog
    monkeypatch.setattr(server.loopback, "delay", NETWORK_SECONDS)
    measured = {text: await waits_for(server, app, text) for text in QUESTIONS[::16]}
    assert {search for search, _ in measured.values()} == {2}, measured
    assert max(answer for _, answer in measured.values()) <= 5, measured


@pytest.mark.live
async def test_a_search_on_a_server_waits_for_two_round_trips(
    tmp_path: Path, sample_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[float, float]] = []
    send = httpx.AsyncClient.send

    async def timed(client: httpx.AsyncClient, *arguments: Any, **more: Any) -> httpx.Response:
        started = perf_counter()
        response = await send(client, *arguments, **more)
        sent.append((started, perf_counter()))
        return response

    async with live_settings() as on_server, sample_app(tmp_path / "server", sample_vectors, **on_server) as app:
        await found(app, QUESTIONS[0])
        monkeypatch.setattr(httpx.AsyncClient, "send", timed)
        for text in QUESTIONS[::16]:
            sent.clear()
            await found(app, text)
            assert round_trips(sent) == 2, text


def round_trips(sent: list[tuple[float, float]]) -> int:
    """How often a client waited: requests at the same time count once."""
    count, end = 0, 0.0
    for started, ended in sorted(sent):
        count += started >= end
        end = max(end, ended)
    return count
