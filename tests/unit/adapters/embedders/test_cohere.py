"""The Cohere embedder, over real connections to a scripted server."""

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.cohere import CALIBRATION, CohereEmbedder, float_rows
from bookwise.adapters.embedders.service import EmbeddingTimeouts
from bookwise.domain.errors import EmbedderUnavailable, Misconfigured
from tests.support.scripted_http import Reply, Request, Server, answering, scripted
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

KEY = SecretStr("any-key-of-cohere")


def reply(*rows: object) -> Reply:
    return Reply(json={"id": "1", "embeddings": {"float": rows}, "texts": ["…"], "response_type": "by_type"})


def embedder(server: Server, *, size: int = 2) -> CohereEmbedder:
    time = StoppedTime()
    return CohereEmbedder(
        KEY, base_url=server.url, size=size, timeouts=EmbeddingTimeouts(sleep=time.sleep, clock=time.clock)
    )


def numbered(request: Request) -> Reply:
    return reply(*([1.0, float(text)] for text in request.json["texts"]))


async def test_texts_are_embedded_to_be_found() -> None:
    async with scripted(reply([1, 0], [0, 2])) as server, embedder(server) as cohere:
        assert await cohere.embed_texts(["loops", "lists"]) == [(1.0, 0.0), (0.0, 1.0)]
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v2/embed")
    assert request.headers["authorization"] == f"Bearer {KEY.get_secret_value()}"
    assert request.json == {
        "model": "embed-english-v3.0",
        "texts": ["loops", "lists"],
        "input_type": "search_document",
        "embedding_types": ["float"],
        "truncate": "END",
        "output_dimension": 2,
    }


async def test_a_question_is_embedded_to_search() -> None:
    async with scripted(reply([3, 4])) as server, embedder(server) as cohere:
        assert await cohere.embed_query("what is a loop?") == (0.6, 0.8)
    assert server.requests[0].json["input_type"] == "search_query"
    assert server.requests[0].json["texts"] == ["what is a loop?"]


async def test_a_request_holds_at_most_96_texts() -> None:
    texts = [str(number) for number in range(200)]
    async with answering(numbered) as server, embedder(server) as cohere:
        vectors = await cohere.embed_texts(texts)
    assert sorted(len(request.json["texts"]) for request in server.requests) == [8, 96, 96]
    assert [round(y / x) for x, y in vectors] == list(range(200))


async def test_the_longest_texts_still_share_a_request() -> None:
    async with scripted(reply(*[[1, 0]] * 96)) as server, embedder(server) as cohere:
        await cohere.embed_texts(["x" * 50_000] * 96)
    assert {len(text) for text in server.requests[0].json["texts"]} == {8_192}


async def test_a_refused_key_names_its_setting_and_is_never_shown() -> None:
    rejection = Reply(status=401, json={"message": f"invalid api token {KEY.get_secret_value()}"})
    async with scripted(rejection) as server, embedder(server) as cohere:
        with pytest.raises(Misconfigured, match="COHERE_API_KEY") as caught:
            await cohere.embed_texts(["loops"])
    assert KEY.get_secret_value() not in f"{caught.value} {caught.value.advice}"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"embeddings": [[1.0, 0.0]]},
        {"embeddings": {"int8": [[1, 0]]}},
        {"embeddings": {"float": None}},
        {"embeddings": {"float": {"0": [1, 0]}}},
    ],
)
async def test_an_answer_without_float_vectors_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="no list under"):
        float_rows(answer)


async def test_fewer_vectors_than_texts_are_refused() -> None:
    async with scripted(reply([1, 0])) as server, embedder(server) as cohere:
        with pytest.raises(EmbedderUnavailable, match="1 vectors for 2 texts"):
            await cohere.embed_texts(["loops", "lists"])


async def test_a_vector_of_another_size_is_refused() -> None:
    async with scripted(reply([1, 0])) as server, embedder(server, size=1024) as cohere:
        with pytest.raises(EmbedderUnavailable, match="of 2 numbers instead of 1024 for text 1 of 1"):
            await cohere.embed_query("loops")


async def test_no_text_asks_nobody() -> None:
    async with scripted() as server, embedder(server) as cohere:
        assert await cohere.embed_texts([]) == []


async def test_the_fingerprint_names_model_size_and_any_service_that_is_not_cohere() -> None:
    own = CohereEmbedder(KEY).facts
    assert own.fingerprint == "cohere:embed-english-v3.0:1024:1"
    assert (own.name, own.size) == ("embed-english-v3.0", 1024)
    other = CohereEmbedder(KEY, base_url="https://gateway.example/", model="embed-english-light-v3.0", size=384)
    assert other.facts.fingerprint == "cohere:embed-english-light-v3.0:384:1:gateway.example"


async def test_an_empty_key_is_a_setting_to_mend() -> None:
    with pytest.raises(Misconfigured, match="COHERE_API_KEY is empty"):
        CohereEmbedder(SecretStr(""))


async def test_the_calibration_grows_and_meets_the_thresholds_of_the_product() -> None:
    similarities = [CALIBRATION.similarity(strength / 100) for strength in range(-100, 201)]
    assert similarities == sorted(similarities)
    assert (similarities[0], similarities[-1]) == (0.0, 1.0)
    assert CALIBRATION.similarity(0.39) < 0.2
    assert CALIBRATION.similarity(0.78) == pytest.approx(0.6)
    assert CALIBRATION.similarity(1.07) == pytest.approx(0.85)
