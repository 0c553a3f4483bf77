"""The backends of the port `LessonIndex`: in the process, on a loopback, and on a server where one is configured."""

import os
import shutil
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import anyio.to_thread
import pytest
from pydantic import SecretStr

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.qdrant.server import ServerAddress, identities_on_server, open_server_index
from bookwise.adapters.qdrant.server_collection import CollectionOptions
from bookwise.ports import LessonIndex
from tests.support.qdrant_loopback import qdrant_loopback

LIVE_URL = "TEST_QDRANT_URL"  #: from BOOKWISE_TEST_QDRANT_URL (tests/conftest.py)
LIVE_KEY = "TEST_QDRANT_API_KEY"

BACKENDS = [
    "qdrant-embedded",
    "qdrant-loopback",
    pytest.param("qdrant-live", marks=pytest.mark.live),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBackend:
    """A place for one index."""

    open: Callable[[], AbstractAsyncContextManager[LessonIndex]]
    destroy: Callable[[], Awaitable[None]]  #: removes all data; the index must be closed


@asynccontextmanager
async def index_backend(name: str, folder: Path, *, size: int) -> AsyncIterator[IndexBackend]:
    """A new and empty place for an index of vectors with `size` numbers."""
    if name == "qdrant-embedded":
        yield _embedded(folder / "index", size)
        return
    async with AsyncExitStack() as stack:
        address = live_address() if name == "qdrant-live" else None
        if address is None:
            address = ServerAddress(url=(await stack.enter_async_context(qdrant_loopback(folder / "qdrant"))).url)
        backend = server_backend(address, size=size)
        if name == "qdrant-live":
            stack.push_async_callback(backend.destroy)
        yield backend


def live_address() -> ServerAddress:
    """The server that the environment names; the marker `live` leaves the test out without one."""
    return ServerAddress(url=os.environ[LIVE_URL], api_key=os.environ.get(LIVE_KEY))


@asynccontextmanager
async def live_settings() -> AsyncIterator[dict[str, object]]:
    """Settings for an empty index on the live server. Its collections are removed at the end."""
    address, name = live_address(), f"bookwise-test-{uuid.uuid4().hex[:12]}"
    key = SecretStr(address.api_key) if address.api_key else None
    try:
        yield {"qdrant_url": address.url, "qdrant_api_key": key, "qdrant_collection_name": name}
    finally:
        await drop_collections(address, name)


def _embedded(folder: Path, size: int) -> IndexBackend:
    async def destroy() -> None:
        shutil.rmtree(folder)

    return IndexBackend(open=lambda: open_index(folder, size=size), destroy=destroy)


def server_backend(address: ServerAddress, *, size: int, name: str = "", **more: object) -> IndexBackend:
    """An index in a collection with a name of its own, so that tests can share a server."""
    name = name or f"bookwise-test-{uuid.uuid4().hex[:12]}"
    options = CollectionOptions(name=name, fingerprint="test:1", size=size, **more)  # type: ignore[arg-type]

    async def destroy() -> None:
        await drop_collection(address, options.collection)

    return IndexBackend(open=lambda: open_server_index(address, options), destroy=destroy)


async def drop_collections(address: ServerAddress, prefix: str) -> None:
    """Removes the collections of all embedders under one configured name."""
    for collection in await identities_on_server(address):
        if collection.startswith(prefix):
            await drop_collection(address, collection)


async def drop_collection(address: ServerAddress, name: str) -> None:
    headers = {"api-key": address.api_key} if address.api_key else {}
    request = Request(f"{address.url}/collections/{name}", headers=headers, method="DELETE")
    await anyio.to_thread.run_sync(lambda: urlopen(request, timeout=30).close())
