"""An index on a cluster: two copies of every chunk, and reads that several replicas agree on."""

import json
import os
from dataclasses import replace
from typing import Any
from urllib.request import Request, urlopen

import anyio.to_thread
import pytest

from bookwise.domain.search import Filter
from tests.support.builders import chunks, embedded
from tests.support.index_backends import LIVE_URL, live_address, server_backend

pytestmark = [pytest.mark.anyio, pytest.mark.live]


def cluster() -> dict[str, Any]:
    address = live_address()
    request = Request(f"{address.url}/cluster", headers={"api-key": address.api_key} if address.api_key else {})
    with urlopen(request, timeout=10) as response:
        result: dict[str, Any] = json.load(response)["result"]
    return result


@pytest.mark.parametrize("consistency", [None, "majority", "all", 2])
async def test_an_index_with_two_replicas_reads_what_was_staged(consistency: int | str | None) -> None:
    found = await anyio.to_thread.run_sync(cluster)
    if found["status"] != "enabled" or len(found["peers"]) < 2:
        pytest.skip(f"{os.environ[LIVE_URL]} is not a cluster of two nodes")
    backend = server_backend(replace(live_address(), consistency=consistency), size=2, replicas=2)
    stored = chunks("loops", "r1", *(f"Topic number {number} carries messages." for number in range(50)))
    try:
        async with backend.open() as index:
            await index.stage(embedded(stored, *[(1.0, 0.0)] * 50))
            for _ in range(10):  # different replicas answer
                assert await index.revisions("book") == {"r1": 50}
                assert len(await index.nearest((1.0, 0.0), "topic", within=Filter(book_id="book"), limit=60)) == 50
            assert await index.remove("book", ["r1"]) == 50
            assert [await index.revisions("book") for _ in range(10)] == [{}] * 10
    finally:
        await backend.destroy()
