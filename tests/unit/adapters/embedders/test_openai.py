"""The OpenAI embedder, over real connections to a scripted server."""

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.openai import CALIBRATION, OpenAIEmbedder, rows_by_index
from bookwise.adapters.embedders.service import EmbeddingTimeouts
from bookwise.domain.errors import EmbedderUnavailable, Misconfigured
from tests.support.scripted_http import Reply, Request, Server, answering, scripted
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

KEY = SecretStr("any-key-of-a-local-service")
OWN_KEY = SecretStr("sk-" + "a1B2" * 10)


def entry(index: object, *numbers: float) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": list(numbers)}


def reply(*entries: object) -> Reply:
    return Reply(json={"object": "list", "data": entries, "model": "text-embedding-3-small"})


def embedder(server: Server, *, size: int = 2, time: StoppedTime | None = None) -> OpenAIEmbedder:
    time = time or StoppedTime()
    timeouts = EmbeddingTimeouts(sleep=time.sleep, clock=time.clock)
    return OpenAIEmbedder(KEY, base_url=f"{server.url}/v1", size=size, timeouts=timeouts)


def same_for_all(request: Request) -> Reply:
    return reply(*(entry(index, 1.0, 0.0) for index in range(len(request.json["input"]))))


async def test_the_request_is_what_the_service_documents() -> None:
    async with scripted(reply(entry(0, 1, 0))) as server, embedder(server) as openai:
        await openai.embed_texts(["loops"])
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY.get_secret_value()}"
    assert request.json == {
        "model": "text-embedding-3-small",
        "input": ["loops"],
        "encoding_format": "float",
        "dimensions": 2,
    }


async def test_a_question_is_embedded_like_a_text() -> None:
    async with scripted(reply(entry(0, 1, 0)), reply(entry(0, 1, 0))) as server, embedder(server) as openai:
        [text] = await openai.embed_texts(["loops"])
        assert await openai.embed_query("loops") == text
    assert server.requests[0].json == server.requests[1].json


async def test_vectors_are_put_in_order_by_their_index() -> None:
    mixed = reply(entry(2, -1, 0), entry(0, 1, 0), entry(1, 0, 1))
    async with scripted(mixed) as server, embedder(server) as openai:
        assert await openai.embed_texts(["a", "b", "c"]) == [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]


@pytest.mark.parametrize(
    "entries",
    [
        [entry(0, 1, 0), entry(0, 0, 1)],
        [entry(0, 1, 0), entry(2, 0, 1)],
        [entry(1, 1, 0), entry(2, 0, 1)],
        [entry("0", 1, 0), entry(1, 0, 1)],
        [entry(True, 1, 0), entry(0, 0, 1)],
        [entry(0, 1, 0), {"embedding": [0, 1]}],
        [entry(0, 1, 0), "second"],
    ],
)
async def test_indexes_that_do_not_count_the_texts_are_refused(entries: list[object]) -> None:
    async with scripted(reply(*entries)) as server, embedder(server) as openai:
        with pytest.raises(EmbedderUnavailable, match="returned an invalid response"):
            await openai.embed_texts(["a", "b"])


@pytest.mark.parametrize("answer", [[], {}, {"data": None}, {"data": {"0": 1}}, "data", None])
async def test_an_answer_without_data_holds_no_vectors(answer: object) -> None:
    with pytest.raises(ValueError, match="no list of data"):
        rows_by_index(answer)


async def test_a_missing_embedding_names_its_text() -> None:
    async with scripted(reply(entry(0, 1, 0), {"index": 1})) as server, embedder(server) as openai:
        with pytest.raises(EmbedderUnavailable, match="that is not a list for text 2 of 2"):
            await openai.embed_texts(["a", "b"])


async def test_a_request_holds_at_most_2048_texts() -> None:
    async with answering(same_for_all) as server, embedder(server) as openai:
        assert len(await openai.embed_texts(["loop"] * 2049)) == 2049
    assert sorted(len(request.json["input"]) for request in server.requests) == [1, 2048]


async def test_a_request_holds_no_more_tokens_than_the_service_takes() -> None:
    async with answering(same_for_all) as server, embedder(server) as openai:
        assert len(await openai.embed_texts(["x = y;" * 1_000] * 250)) == 250
    sizes = [sum(map(len, request.json["input"])) for request in server.requests]
    assert len(sizes) == 3
    assert max(sizes) <= 600_000  # 300,000 tokens even at two characters each


async def test_a_text_longer_than_the_model_reads_is_cut() -> None:
    async with answering(same_for_all) as server, embedder(server) as openai:
        await openai.embed_texts(["x" * 50_000, "語" * 50_000])
    latin, chinese = server.requests[0].json["input"]
    assert latin == "x" * 8_191
    assert len(chinese.encode()) <= 8_191


async def test_a_busy_service_is_asked_again_after_the_wait_it_asks_for() -> None:
    time = StoppedTime()
    busy = Reply(status=429, headers={"Retry-After": "3"})
    async with scripted(busy, reply(entry(0, 1, 0))) as server, embedder(server, time=time) as openai:
        assert await openai.embed_texts(["loops"]) == [(1.0, 0.0)]
    assert time.waits == [3.0]


async def test_a_refused_key_is_a_setting_to_mend_and_is_never_shown() -> None:
    rejection = Reply(status=401, json={"error": {"message": f"Incorrect key: {KEY.get_secret_value()}"}})
    async with scripted(rejection) as server, embedder(server) as openai:
        with pytest.raises(Misconfigured, match="OPENAI_API_KEY") as caught:
            await openai.embed_texts(["loops"])
    output = f"{caught.value} {caught.value.advice} {caught.value!r} {openai!r} {vars(openai)}"
    assert KEY.get_secret_value() not in output


async def test_an_address_the_service_does_not_know_names_its_setting() -> None:
    async with scripted(Reply(status=404)) as server, embedder(server) as openai:
        with pytest.raises(Misconfigured) as caught:
            await openai.embed_texts(["loops"])
    assert "OPENAI_BASE_URL" in caught.value.advice


async def test_a_vector_of_another_size_is_refused() -> None:
    async with scripted(reply(entry(0, 1, 0))) as server, embedder(server, size=1536) as openai:
        with pytest.raises(EmbedderUnavailable, match="of 2 numbers instead of 1536 for text 1 of 1"):
            await openai.embed_query("loops")


async def test_no_text_asks_nobody() -> None:
    async with scripted() as server, embedder(server) as openai:
        assert await openai.embed_texts([]) == []


async def test_the_fingerprint_names_model_size_and_any_service_that_is_not_openai() -> None:
    own = OpenAIEmbedder(OWN_KEY).facts
    assert own.fingerprint == "openai:text-embedding-3-small:1536:1"
    assert (own.name, own.size) == ("text-embedding-3-small", 1536)
    assert OpenAIEmbedder(OWN_KEY, base_url="https://api.openai.com/v1/").facts == own
    other = OpenAIEmbedder(KEY, base_url="http://Models.local:11434/v1", model="bge-m3", size=1024).facts
    assert other.fingerprint == "openai:bge-m3:1024:1:models.local"


@pytest.mark.parametrize("key", ["", "sk-short", "pk-" + "a" * 60, "sk-" + "a" * 36])
async def test_openais_own_endpoint_takes_only_keys_of_its_shape(key: str) -> None:
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY") as caught:
        OpenAIEmbedder(SecretStr(key))
    assert not key or key not in caught.value.message + caught.value.advice
    OpenAIEmbedder(SecretStr("sk-" + "a" * 37))


async def test_another_endpoint_takes_any_key_but_an_empty_one() -> None:
    OpenAIEmbedder(SecretStr("x"), base_url="http://localhost:11434/v1")
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY is empty"):
        OpenAIEmbedder(SecretStr(""), base_url="http://localhost:11434/v1")


async def test_the_calibration_grows_and_meets_the_thresholds_of_the_product() -> None:
    similarities = [CALIBRATION.similarity(strength / 100) for strength in range(-100, 201)]
    assert similarities == sorted(similarities)
    assert (similarities[0], similarities[-1]) == (0.0, 1.0)
    assert CALIBRATION.similarity(0.26) < 0.2
    assert CALIBRATION.similarity(0.65) == pytest.approx(0.6)
    assert CALIBRATION.similarity(0.95) == pytest.approx(0.85)
