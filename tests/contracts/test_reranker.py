"""What the port `Reranker` promises, checked for every reranker."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from bookwise.adapters.rerankers.fastembed import FastembedReranker
from bookwise.adapters.rerankers.service import ServiceReranker
from bookwise.ports import Reranker
from bookwise.settings import Settings
from bookwise.wiring.rerankers import open_reranker
from tests.support.fastembed_folders import RERANKER_MODEL, reranker_folder
from tests.support.scripted_http import Reply, Request, answering

pytestmark = pytest.mark.anyio

QUESTION = "How do robots exchange messages?"
TEXTS = [
    "Whisk the eggs and fold in the flour before baking.",
    "Robots exchange messages over topics.",
    "",
    "Größe und 語 and 🤖",
    "word " * 2_000,
]


def shared_words(request: Request) -> Reply:
    """A score for each document, best first as the services send them: the share of the question's words in it."""
    asked, sent = set(re.findall(r"\w+", request.json["query"].lower())), request.json["documents"]
    scores = [len(asked & set(re.findall(r"\w+", text.lower()))) / len(asked) for text in sent]
    best_first = sorted(range(len(sent)), key=lambda place: -scores[place])[: request.json["top_n"]]
    return Reply(json={"results": [{"index": place, "relevance_score": scores[place]} for place in best_first]})


@asynccontextmanager
async def cohere() -> AsyncIterator[Reranker]:
    async with answering(shared_words) as server:
        settings = Settings(reranker="cohere:rerank-v3.5", cohere_api_key=SecretStr("key"), cohere_base_url=server.url)
        async with open_reranker(settings) as reranker:
            yield reranker
        assert set(server.targets) <= {"/v2/rerank"}


@asynccontextmanager
async def openai() -> AsyncIterator[Reranker]:
    async with answering(shared_words) as server:
        url = f"{server.url}/v1"
        settings = Settings(reranker="openai:bge-m3", openai_api_key=SecretStr("key"), openai_base_url=url)
        async with open_reranker(settings) as reranker:
            yield reranker
        assert set(server.targets) <= {"/v1/rerank"}


@asynccontextmanager
async def fastembed() -> AsyncIterator[Reranker]:
    yield FastembedReranker(RERANKER_MODEL, cache=Path("unused"), model_dir=reranker_folder())


#: The only place that knows the rerankers: a name, and what opens one.
RERANKERS: dict[str, Callable[[], AbstractAsyncContextManager[Reranker]]] = {
    "cohere": cohere,
    "openai": openai,
    "fastembed": fastembed,
}


@pytest.fixture(params=RERANKERS)
async def reranker(request: pytest.FixtureRequest) -> AsyncIterator[Reranker]:
    async with RERANKERS[request.param]() as opened:
        yield opened


async def test_the_text_that_answers_has_the_highest_score(reranker: Reranker) -> None:
    scores = await reranker.scores(QUESTION, TEXTS)
    assert scores.index(max(scores)) == 1


async def test_every_text_has_one_score_that_does_not_depend_on_the_others(reranker: Reranker) -> None:
    scores = await reranker.scores(QUESTION, TEXTS)
    assert {type(score) for score in scores} == {float}
    assert await reranker.scores(QUESTION, TEXTS[::-1]) == scores[::-1]
    assert await reranker.scores(QUESTION, TEXTS[1:2]) == scores[1:2]


async def test_no_text_has_no_score(reranker: Reranker) -> None:
    assert await reranker.scores(QUESTION, []) == []


async def test_a_reranker_has_a_name_for_messages(reranker: Reranker) -> None:
    assert reranker.name.startswith("The reranker ")


async def test_a_service_gets_the_key_the_model_and_all_texts() -> None:
    async with answering(shared_words) as server:
        service = ServiceReranker(SecretStr("the-key"), url=server.url, model="m", key_setting="KEY", url_setting="URL")
        async with aclosing(service):
            await service.scores(QUESTION, TEXTS)
    [request] = server.requests
    assert request.headers["authorization"] == "Bearer the-key"
    assert request.json == {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": len(TEXTS)}
