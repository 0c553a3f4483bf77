"""What the port `Embedder` promises, checked for every embedder."""

import hashlib
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.cohere import CohereEmbedder
from bookwise.adapters.embedders.fastembed import FastembedEmbedder
from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.adapters.embedders.minilm import MiniLM
from bookwise.adapters.embedders.openai import OpenAIEmbedder
from bookwise.domain.books import Vector
from bookwise.ports import Embedder
from bookwise.settings import load_settings
from tests.support.fastembed_folders import EMBEDDING_MODEL, embedding_folder
from tests.support.scripted_http import Reply, Request, answering

pytestmark = pytest.mark.anyio

TEXTS = [
    "A loop repeats its body.",
    "A list holds many values.",
    "",
    "Größe und 語 and 🤖",
    "word " * 4_000,
    "A loop repeats its body.",
]


@asynccontextmanager
async def hashing() -> AsyncIterator[Embedder]:
    yield HashingEmbedder()


@asynccontextmanager
async def openai() -> AsyncIterator[Embedder]:
    def answer(request: Request) -> Reply:
        rows = [(index, numbers(text, 1536)) for index, text in enumerate(request.json["input"])]
        return Reply(json={"data": [{"index": index, "embedding": row} for index, row in reversed(rows)]})

    async with (
        answering(answer) as server,
        OpenAIEmbedder(SecretStr("key"), base_url=f"{server.url}/v1") as embedder,
    ):
        yield embedder


@asynccontextmanager
async def cohere() -> AsyncIterator[Embedder]:
    def answer(request: Request) -> Reply:
        return Reply(json={"embeddings": {"float": [numbers(text, 1024) for text in request.json["texts"]]}})

    async with answering(answer) as server, CohereEmbedder(SecretStr("key"), base_url=server.url) as embedder:
        yield embedder


@asynccontextmanager
async def minilm() -> AsyncIterator[Embedder]:
    yield MiniLM(cache=load_settings().cache_folder)


@asynccontextmanager
async def fastembed() -> AsyncIterator[Embedder]:
    yield FastembedEmbedder(EMBEDDING_MODEL, cache=Path("unused"), model_dir=embedding_folder())


#: The only place that knows the embedders: a name, and what opens one.
EMBEDDERS: dict[str, Callable[[], AbstractAsyncContextManager[Embedder]]] = {
    "hashing": hashing,
    "minilm": minilm,
    "openai": openai,
    "cohere": cohere,
    "fastembed": fastembed,
}


@pytest.fixture(params=EMBEDDERS)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with EMBEDDERS[request.param]() as opened:
        yield opened


def numbers(text: str, size: int) -> list[float]:
    """A vector that a service could return for a text: any numbers of any length, always the same."""
    stream = hashlib.shake_256(text.encode()).digest(size)
    return [byte - 127.5 for byte in stream]


def cosine(one: Vector, other: Vector) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


async def test_every_text_has_one_vector_in_order(embedder: Embedder) -> None:
    together = await embedder.embed_texts(TEXTS)
    assert len(together) == len(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert vector == (await embedder.embed_texts([text]))[0]


async def test_no_text_has_no_vector(embedder: Embedder) -> None:
    assert await embedder.embed_texts([]) == []


async def test_a_text_has_the_same_vector_every_time(embedder: Embedder) -> None:
    assert await embedder.embed_texts(TEXTS) == await embedder.embed_texts(TEXTS)
    assert await embedder.embed_query(TEXTS[0]) == await embedder.embed_query(TEXTS[0])


async def test_a_text_has_the_same_vector_whatever_texts_are_sent_with_it(embedder: Embedder) -> None:
    forward = await embedder.embed_texts(TEXTS)
    assert await embedder.embed_texts(TEXTS[::-1]) == forward[::-1]
    assert forward[0] == forward[-1]


async def test_vectors_are_tuples_of_floats_of_the_named_size_and_of_length_one(embedder: Embedder) -> None:
    for vector in [*await embedder.embed_texts(TEXTS), await embedder.embed_query("What is a loop?")]:
        assert isinstance(vector, tuple)
        assert len(vector) == embedder.facts.size
        assert {type(number) for number in vector} == {float}
        assert math.sqrt(cosine(vector, vector)) == pytest.approx(1.0, abs=1e-5)


async def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    loop, values = await embedder.embed_texts(TEXTS[:2])
    assert cosine(loop, values) < 0.999


async def test_more_texts_than_one_request_takes_come_back_in_order(embedder: Embedder) -> None:
    texts = [f"Lesson {number}." for number in range(100)]
    vectors = await embedder.embed_texts(texts)
    assert [vectors[0], vectors[50], vectors[99]] == await embedder.embed_texts([texts[0], texts[50], texts[99]])


async def test_the_facts_name_the_embedder_and_never_change(embedder: Embedder) -> None:
    facts = embedder.facts
    assert facts.name
    assert facts.fingerprint
    assert facts.size > 0
    await embedder.embed_texts(TEXTS[:1])
    assert embedder.facts == facts


async def test_the_calibration_grows_from_0_to_1(embedder: Embedder) -> None:
    similarities = [embedder.facts.calibration.similarity(cosine / 100) for cosine in range(-100, 101)]
    assert similarities == sorted(similarities)
    assert 0.0 <= similarities[0] < similarities[-1] <= 1.0
