"""Settings → an index on a Qdrant server. Loads the Qdrant client."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from bookwise.adapters.qdrant.server import ServerAddress, ServerIndex, identities_on_server, open_server_index
from bookwise.adapters.qdrant.server_calls import ServerTimeouts
from bookwise.adapters.qdrant.server_collection import CollectionOptions
from bookwise.domain.books import EmbedderFacts
from bookwise.settings import Settings

WRITE_FACTOR = 6  #: a write may take as many times as long as a read: it waits until the server has applied it


def open_on_server(settings: Settings, facts: EmbedderFacts) -> AbstractAsyncContextManager[ServerIndex]:
    """The index of this embedder's vectors on the configured server."""
    options = CollectionOptions(
        name=settings.qdrant_collection_name,
        fingerprint=facts.fingerprint,
        size=facts.size,
        shards=settings.qdrant_shard_number,
        replicas=settings.qdrant_replication_factor,
        quantization=settings.qdrant_quantization,
        on_disk=settings.qdrant_on_disk,
    )
    return open_server_index(_address(settings), options)


async def find_identities(settings: Settings, fingerprint: str = "") -> Mapping[str, str]:
    """The identity of each collection of Bookwise on the server, by name; with `fingerprint`, of one embedder."""
    return await identities_on_server(_address(settings), fingerprint=fingerprint)


def _address(settings: Settings) -> ServerAddress:
    assert settings.qdrant_url is not None
    key, wanted = settings.qdrant_api_key, settings.qdrant_read_consistency
    return ServerAddress(
        url=settings.qdrant_url,
        api_key=key.get_secret_value() if key else None,
        timeouts=ServerTimeouts(
            read_seconds=settings.qdrant_timeout_seconds,
            write_seconds=settings.qdrant_timeout_seconds * WRITE_FACTOR,
        ),
        consistency=int(wanted) if wanted and wanted.isdecimal() else wanted,
    )
