"""The loopback that stands in for a Qdrant server: what a server refuses, it refuses too."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio.to_thread
import httpx
import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from tests.support.qdrant_loopback import qdrant_loopback
from tests.support.qdrant_process import qdrant_process, trips

pytestmark = pytest.mark.anyio

BIG = 2**64 - 1


def connect(url: str, **options: object) -> AsyncQdrantClient:
    return AsyncQdrantClient(url=url, check_compatibility=False, limits=httpx.Limits(), **options)  # type: ignore[arg-type]


@pytest.fixture
async def client() -> AsyncIterator[AsyncQdrantClient]:
    async with qdrant_loopback() as server:
        client = connect(server.url)
        await create(client)
        yield client
        await client.close()


async def create(client: AsyncQdrantClient) -> None:
    await client.create_collection(
        "books",
        vectors_config={"dense": models.VectorParams(size=2, distance=models.Distance.COSINE)},
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        metadata={"id": "identity"},
    )


def has(field: str, value: str) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=field, match=models.MatchValue(value=value))])


def point(number: int, *vector: float) -> models.PointStruct:
    words = models.SparseVector(indices=[7], values=[1.0])
    return models.PointStruct(id=number, vector={"dense": list(vector), "words": words}, payload={"book_id": "a"})


IDF = models.SearchParams(idf=models.IdfScope.GLOBAL)

REFUSED: dict[str, tuple[int, Callable[[AsyncQdrantClient], Awaitable[object]]]] = {
    "collection exists": (409, create),
    "no such collection": (404, lambda client: client.get_collection("other")),
    "empty upsert": (400, lambda client: client.upsert("books", [])),
    "vector of another size": (400, lambda client: client.upsert("books", [point(1, 1.0, 2.0, 3.0)])),
    "query of another size": (400, lambda client: client.query_points("books", [1.0, 2.0, 3.0], using="dense")),
    "facet without index": (400, lambda client: client.facet("books", "book_id")),
    "filter without index": (400, lambda client: client.count("books", has("book_id", "a"))),
    "corpus on a dense vector": (
        400,
        lambda client: client.query_points("books", [1.0, 2.0], using="dense", search_params=IDF),
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
async def test_it_refuses_what_a_server_refuses(client: AsyncQdrantClient, reason: str) -> None:
    status, call = REFUSED[reason]
    with pytest.raises(UnexpectedResponse) as refused:
        await call(client)
    assert refused.value.status_code == status


async def test_it_stores_finds_and_describes(client: AsyncQdrantClient) -> None:
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    await client.create_payload_index("books", "book_id", tenant)
    await client.upsert("books", [point(BIG, 1.0, 0.0), point(2, 0.0, 1.0)])
    answer = await client.query_points("books", [1.0, 0.0], using="dense", query_filter=has("book_id", "a"), limit=1)
    assert [found.id for found in answer.points] == [BIG]
    described = await client.get_collection("books")
    assert described.config.metadata == {"id": "identity"}
    assert described.payload_schema["book_id"].params == tenant


async def test_a_wrong_key_is_refused_in_plain_text() -> None:
    async with qdrant_loopback(api_key="right") as server:
        client = connect(server.url, headers={"api-key": "wrong"})
        with pytest.raises(UnexpectedResponse) as refused:
            await client.get_collections()
        await client.close()
    assert (refused.value.status_code, refused.value.content) == (401, b"Invalid API key or JWT")


async def test_two_clients_share_one_process_whose_data_stays(tmp_path: Path) -> None:
    with qdrant_process(tmp_path / "qdrant") as url:
        first, second = connect(url), connect(url)
        await create(first)
        await second.upsert("books", [point(5, 1.0, 0.0)])
        assert (await first.count("books")).count == 1
        assert (await anyio.to_thread.run_sync(trips, url))["PUT points"] == 1
        await first.close()
        await second.close()
    with qdrant_process(tmp_path / "qdrant") as url:
        client = connect(url)
        assert (await client.count("books")).count == 1
        await client.close()
