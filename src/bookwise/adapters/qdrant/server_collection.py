"""The collection of one embedder's vectors on a server: created, completed and checked when it is opened.

Readers are served from the collection of their own embedder, so vectors of two models never mix. The configured name is
an alias: it names the collection from which all books are served, for other programs and for people.
"""

import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from qdrant_client import AsyncQdrantClient, models

from bookwise.adapters.qdrant.collections import configured_name, index_name
from bookwise.adapters.qdrant.schema import DENSE, INTEGER_FIELDS, KEYWORD_FIELDS, RANGE_FIELDS, TENANT, WORDS
from bookwise.adapters.qdrant.server_calls import ServerCalls
from bookwise.adapters.qdrant.server_errors import CLIENT_ERRORS, is_existing_collection, is_missing_collection
from bookwise.domain.errors import Misconfigured

#: The first version that computes word statistics per book. An older one ignores the request for them.
VERSION_MIN = (1, 19)
IDENTITY = "id"  #: in the metadata of a collection
EMBEDDER = "embedder"
#: The search graph of one book. With 16, 100 and the server's own breadth of search, recall@10 at 400,000 chunks is
#: .74; with these and the breadth in server.py it is .96, for one minute more of indexing (docs/benchmarks.md).
LINKS_PER_CHUNK = 32
BUILD_BREADTH = 200

Quantization: TypeAlias = Literal["none", "scalar", "turbo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOptions:
    """The name of a collection, and what it is created with."""

    name: str  #: the configured name, which becomes the alias
    fingerprint: str  #: of the embedder
    size: int  #: numbers per vector
    shards: int = 1
    replicas: int = 1
    quantization: Quantization = "scalar"
    on_disk: bool = False

    @property
    def collection(self) -> str:
        return index_name(self.name, self.fingerprint)


class ServerCollection:
    """Opens the collection and reads what the server has of it."""

    def __init__(self, client: AsyncQdrantClient, calls: ServerCalls, options: CollectionOptions) -> None:
        self._client, self._calls, self._options = client, calls, options
        self.name = options.collection

    async def open(self) -> str:
        """The identity of the data in the collection, which is created when absent.

        Raises `Misconfigured` for a server that is too old, and for a collection of another size or origin.
        """
        await self._require_version()
        info = await self._info() or await self._create()
        self._require_size(info)
        identity = self._identity(info)
        await self._create_missing_indexes(info)
        await self._require_alias()
        return identity

    async def identity(self) -> str | None:
        """The identity of the data that is stored now; None when the collection is gone."""
        info = await self._info()
        return None if info is None else self._identity(info)

    async def switch_alias(self) -> None:
        """Makes the configured name an alias of this collection, in one step for everyone who uses it."""
        if await self._alias_target() == self.name:
            return
        alias = models.CreateAlias(collection_name=self.name, alias_name=self._options.name)
        change: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=alias)]
        await self._calls.write(lambda: self._client.update_collection_aliases(change))

    async def _require_version(self) -> None:
        info = await self._calls.read(self._client.info)
        numbers = tuple(map(int, re.findall(r"\d+", info.version)[:2]))
        if numbers < VERSION_MIN:
            raise Misconfigured(
                f"Qdrant at {self._calls.server} is version {info.version}; "
                f"Bookwise needs {'.'.join(map(str, VERSION_MIN))} or newer for word statistics per book.",
                advice="Upgrade the server, or unset QDRANT_URL to keep the index in the data folder.",
            )

    async def _info(self) -> models.CollectionInfo | None:
        return await _describe(self._client, self._calls, self.name)

    async def _create(self) -> models.CollectionInfo:
        """Creates the collection. When another process is faster, its collection is used."""
        options = self._options
        metadata = {IDENTITY: str(uuid.uuid4()), EMBEDDER: options.fingerprint}

        async def create() -> bool:
            try:
                return await self._client.create_collection(
                    self.name,
                    vectors_config={DENSE: _dense(options)},
                    sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    hnsw_config=_graph_per_book(),
                    quantization_config=_quantization(options.quantization),
                    shard_number=options.shards,
                    replication_factor=options.replicas,
                    on_disk_payload=True,
                    metadata=metadata,
                )
            except CLIENT_ERRORS as error:
                if is_existing_collection(error):
                    return False
                raise

        await self._calls.write(create)
        info = await self._info()
        if info is None:
            raise self._foreign(f"it cannot be created: the name {self.name!r} is taken by an alias")
        return info

    async def _create_missing_indexes(self, info: models.CollectionInfo) -> None:
        """Creates the field indexes that a filter needs and the collection does not have.

        One after the other: the server does not work on several at once, and each has its own deadline.
        """
        for field, schema in field_indexes().items():
            if field not in info.payload_schema:
                await self._calls.write(self._index_creation(field, schema))

    def _index_creation(
        self, field: str, schema: models.PayloadSchemaParams
    ) -> Callable[[], Awaitable[models.UpdateResult]]:
        return lambda: self._client.create_payload_index(self.name, field, schema, wait=True)

    async def _require_alias(self) -> None:
        """Creates the alias if there is none. An existing alias stays: `switch_alias` changes it."""
        if await self._alias_target() is not None:
            return
        if self._options.name in await _names(self._client, self._calls):
            raise self._foreign(f"Bookwise needs the name {self._options.name!r} as an alias, but it is a collection")
        await self.switch_alias()

    async def _alias_target(self) -> str | None:
        listed = await self._calls.read(self._client.get_aliases)
        targets = {alias.alias_name: alias.collection_name for alias in listed.aliases}
        return targets.get(self._options.name)

    def _identity(self, info: models.CollectionInfo) -> str:
        identity = _metadata(info).get(IDENTITY)
        if not identity:
            raise self._foreign("it was not created by Bookwise")
        return identity

    def _require_size(self, info: models.CollectionInfo) -> None:
        vectors = info.config.params.vectors
        dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
        if dense is None:
            raise self._foreign("it was not created by Bookwise")
        if dense.size != self._options.size:
            raise self._foreign(f"its vectors have {dense.size} numbers, those of the embedder {self._options.size}")

    def _foreign(self, reason: str) -> Misconfigured:
        return Misconfigured(
            f"The collection {self.name!r} on Qdrant at {self._calls.server} cannot be used: {reason}.",
            advice="Set QDRANT_COLLECTION_NAME to another name, or remove what has this name from the server.",
        )


async def stored_identities(client: AsyncQdrantClient, calls: ServerCalls, *, fingerprint: str = "") -> dict[str, str]:
    """The identity of each collection of Bookwise on the server, by name; with `fingerprint`, only of that embedder."""
    found = {}
    for name in await _names(client, calls):
        if fingerprint and not configured_name(name, fingerprint):
            continue
        info = await _describe(client, calls, name)
        if info is not None and (identity := _metadata(info).get(IDENTITY)):
            found[name] = identity
    return found


async def _names(client: AsyncQdrantClient, calls: ServerCalls) -> list[str]:
    listed = await calls.read(client.get_collections)
    return sorted(collection.name for collection in listed.collections)


async def _describe(client: AsyncQdrantClient, calls: ServerCalls, name: str) -> models.CollectionInfo | None:
    """None when there is no such collection."""

    async def describe() -> models.CollectionInfo | None:
        try:
            return await client.get_collection(name)
        except CLIENT_ERRORS as error:
            if is_missing_collection(error):
                return None
            raise

    return await calls.read(describe)


def field_indexes() -> dict[str, models.PayloadSchemaParams]:
    """The indexed payload fields, each with what its filters need. Only the book has a search graph."""
    keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
    indexes: dict[str, models.PayloadSchemaParams] = {
        field: models.KeywordIndexParams(type=keyword, is_tenant=field == TENANT, enable_hnsw=field == TENANT)
        for field in KEYWORD_FIELDS
    }
    for field in RANGE_FIELDS:
        indexes[field] = models.IntegerIndexParams(type=integer, lookup=False, range=True, enable_hnsw=False)
    for field in INTEGER_FIELDS:
        indexes[field] = models.IntegerIndexParams(type=integer, lookup=True, range=False, enable_hnsw=False)
    return indexes


def _dense(options: CollectionOptions) -> models.VectorParams:
    memory = models.Memory.COLD if options.on_disk else models.Memory.CACHED
    return models.VectorParams(size=options.size, distance=models.Distance.COSINE, memory=memory)


def _graph_per_book() -> models.HnswConfigDiff:
    return models.HnswConfigDiff(m=0, payload_m=LINKS_PER_CHUNK, ef_construct=BUILD_BREADTH)


def _quantization(kind: Quantization) -> models.QuantizationConfig | None:
    """Small copies of the vectors in memory, which choose the candidates. The vectors themselves decide."""
    match kind:
        case "scalar":
            scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, memory=models.Memory.PINNED)
            return models.ScalarQuantization(scalar=scalar)
        case "turbo":
            turbo = models.TurboQuantQuantizationConfig(
                bits=models.TurboQuantBitSize.BITS2, memory=models.Memory.PINNED
            )
            return models.TurboQuantization(turbo=turbo)
        case "none":
            return None


def _metadata(info: models.CollectionInfo) -> dict[str, str]:
    return {name: str(value) for name, value in (info.config.metadata or {}).items()}
