"""How a collection on a server is created, completed and named."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from bookwise.adapters.qdrant.schema import INTEGER_FIELDS, KEYWORD_FIELDS, RANGE_FIELDS
from bookwise.adapters.qdrant.server import ServerAddress, identities_on_server, open_server_index
from bookwise.adapters.qdrant.server_collection import CollectionOptions
from bookwise.domain.errors import Misconfigured
from bookwise.domain.search import Filter
from tests.support.qdrant_loopback import LoopbackServer, qdrant_loopback
from tests.support.scripted_http import Request

pytestmark = pytest.mark.anyio

OPTIONS = CollectionOptions(name="books", fingerprint="test:1", size=2)
COLLECTION = "/collections/books-test-1"
FIELDS = {*KEYWORD_FIELDS, *RANGE_FIELDS, *INTEGER_FIELDS}


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with qdrant_loopback() as server:
        yield server


def sent(server: LoopbackServer, method: str, path: str) -> list[Request]:
    return [r for r in server.http.requests if r.method == method and r.target.partition("?")[0] == path]


async def opened_once(server: LoopbackServer, options: CollectionOptions = OPTIONS) -> str:
    async with open_server_index(ServerAddress(url=server.url), options) as index:
        return index.id


def aliases(server: LoopbackServer) -> dict[str, str]:
    reply: Any = server.loopback(Request(method="GET", target="/aliases", headers={}, body=b"")).json
    return {alias["alias_name"]: alias["collection_name"] for alias in reply["result"]["aliases"]}


async def test_a_collection_is_created_for_many_books(server: LoopbackServer) -> None:
    await opened_once(server, replace(OPTIONS, shards=2, replicas=3, on_disk=True))
    (created,) = sent(server, "PUT", COLLECTION)
    wanted = created.json
    assert wanted["vectors"] == {"dense": {"size": 2, "distance": "Cosine", "memory": "cold"}}
    assert wanted["sparse_vectors"] == {"words": {"modifier": "idf"}}
    assert wanted["hnsw_config"] == {"m": 0, "payload_m": 32, "ef_construct": 200}
    assert (wanted["shard_number"], wanted["replication_factor"]) == (2, 3)
    indexes = {r.json["field_name"]: r.json["field_schema"] for r in sent(server, "PUT", f"{COLLECTION}/index")}
    assert indexes.keys() == FIELDS
    assert [field for field, schema in indexes.items() if schema.get("is_tenant")] == ["book_id"]
    assert [field for field, schema in indexes.items() if schema["enable_hnsw"]] == ["book_id"]


async def test_a_search_goes_through_enough_of_the_graph_and_the_vectors_decide(server: LoopbackServer) -> None:
    async with open_server_index(ServerAddress(url=server.url), OPTIONS) as index:
        await index.nearest((1.0, 0.0), "", within=Filter(book_id="book"), limit=3)
    ((searched,),) = (r.json["searches"] for r in sent(server, "POST", f"{COLLECTION}/points/query/batch"))
    assert searched["params"] == {"hnsw_ef": 512, "quantization": {"rescore": True, "oversampling": 2.0}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("none", None),
        ("scalar", {"scalar": {"type": "int8", "memory": "pinned"}}),
        ("turbo", {"turbo": {"bits": "bits2", "memory": "pinned"}}),
    ],
)
async def test_the_vectors_get_the_configured_copies(server: LoopbackServer, kind: str, expected: object) -> None:
    await opened_once(server, replace(OPTIONS, quantization=kind))  # type: ignore[arg-type]
    (created,) = sent(server, "PUT", COLLECTION)
    assert created.json.get("quantization_config") == expected


async def test_two_processes_that_create_it_at_once_agree_on_its_identity() -> None:
    async with qdrant_loopback() as server:
        server.loopback.delay = 0.02
        identities: list[str] = []

        async def start() -> None:
            identities.append(await opened_once(server))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            tasks.start_soon(start)
        assert len(sent(server, "PUT", COLLECTION)) == 2
    assert len(set(identities)) == 1


async def test_missing_indexes_are_created_at_start(server: LoopbackServer) -> None:
    """As after a kill between the creation of the collection and its last index."""
    identity = await opened_once(server)
    server.loopback(Request(method="DELETE", target=f"{COLLECTION}/index/revision", headers={}, body=b""))
    server.http.requests.clear()
    assert await opened_once(server) == identity
    assert [r.json["field_name"] for r in sent(server, "PUT", f"{COLLECTION}/index")] == ["revision"]


async def test_a_complete_collection_is_opened_without_a_write(server: LoopbackServer) -> None:
    """So a key that may only read is enough for readers."""
    await opened_once(server)
    server.http.requests.clear()
    await opened_once(server)
    assert {request.method for request in server.http.requests} == {"GET"}


async def test_the_configured_name_becomes_an_alias_and_switches_when_asked(server: LoopbackServer) -> None:
    await opened_once(server)
    assert aliases(server) == {"books": "books-test-1"}
    other = replace(OPTIONS, fingerprint="test:2")
    async with open_server_index(ServerAddress(url=server.url), other) as index:
        assert aliases(server) == {"books": "books-test-1"}
        await index.switch_alias()
        assert aliases(server) == {"books": "books-test-2"}
        server.http.requests.clear()
        await index.switch_alias()
    assert {request.method for request in server.http.requests} == {"GET"}


async def test_a_collection_with_the_name_of_the_alias_is_refused(server: LoopbackServer) -> None:
    await opened_once(server, replace(OPTIONS, name="x"))
    with pytest.raises(Misconfigured, match="needs the name 'x-test-1' as an alias"):
        await opened_once(server, replace(OPTIONS, name="x-test-1"))


async def test_a_collection_of_another_program_is_refused(server: LoopbackServer) -> None:
    body = b'{"vectors": {"dense": {"size": 2, "distance": "Cosine"}}}'
    server.loopback(Request(method="PUT", target=COLLECTION, headers={}, body=body))
    with pytest.raises(Misconfigured, match="was not created by Bookwise"):
        await opened_once(server)


async def test_the_identities_on_a_server_are_found_by_name(server: LoopbackServer) -> None:
    one = await opened_once(server)
    two = await opened_once(server, replace(OPTIONS, fingerprint="test:2"))
    server.loopback(Request(method="PUT", target="/collections/foreign", headers={}, body=b'{"vectors": {}}'))
    address = ServerAddress(url=server.url)
    assert await identities_on_server(address) == {"books-test-1": one, "books-test-2": two}
    assert await identities_on_server(address, fingerprint="test:2") == {"books-test-2": two}
