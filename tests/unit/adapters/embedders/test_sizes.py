"""The size of a service's vectors belongs to its model."""

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.cohere import CohereEmbedder
from bookwise.adapters.embedders.openai import OpenAIEmbedder
from tests.support.scripted_http import Reply, Request, answering

pytestmark = pytest.mark.anyio

KEY = SecretStr("sk-" + "0" * 60)


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("embed-english-v3.0", 1024),
        ("embed-multilingual-v3.0", 1024),
        ("embed-english-light-v3.0", 384),
        ("embed-multilingual-light-v3.0", 384),
        ("embed-v4.0", 1536),
    ],
)
async def test_cohere_models_have_their_own_size(model: str, size: int) -> None:
    def answer(request: Request) -> Reply:
        assert "output_dimension" not in request.json
        return Reply(json={"embeddings": {"float": [[1.0] * size]}})

    async with answering(answer) as server, CohereEmbedder(KEY, base_url=server.url, model=model) as embedder:
        assert embedder.facts.size == len(await embedder.embed_query("text")) == size
        assert f":{model}:{size}:" in embedder.facts.fingerprint


@pytest.mark.parametrize(("model", "size"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)])
async def test_openai_models_have_their_own_size(model: str, size: int) -> None:
    async with OpenAIEmbedder(KEY, model=model) as embedder:
        assert embedder.facts.size == size


async def test_another_size_is_requested_and_part_of_the_fingerprint() -> None:
    def answer(request: Request) -> Reply:
        if "input" in request.json:
            return Reply(json={"data": [{"index": 0, "embedding": [1.0] * request.json["dimensions"]}]})
        return Reply(json={"embeddings": {"float": [[1.0] * request.json["output_dimension"]]}})

    async with (
        answering(answer) as server,
        OpenAIEmbedder(KEY, base_url=server.url, size=256) as openai,
        CohereEmbedder(KEY, base_url=server.url, model="embed-v4.0", size=512) as cohere,
    ):
        assert len(await openai.embed_query("text")) == 256
        assert len(await cohere.embed_query("text")) == 512
    assert ":256:" in openai.facts.fingerprint
    assert ":512:" in cohere.facts.fingerprint
