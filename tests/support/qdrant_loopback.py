"""Qdrant's HTTP interface on loopback, over the local mode of its Python client: for tests without a server.

The client that Bookwise uses talks to it over HTTP, as it talks to a server. Several processes may use one loopback.

    async with qdrant_loopback() as server:              # in this process; `folder=` keeps the data
        client = AsyncQdrantClient(url=server.url)
        server.trips()                                   # the calls so far, such as "POST points/query/batch"

`qdrant_process` runs it in a process of its own. `GET /loopback/trips` returns the calls so far.

Like a server, it refuses a filter or a facet on a field without an index, an IDF on a dense vector, an empty upsert, a
vector of another size, a body above 32 MB and a wrong key, with a server's status codes.

What it cannot do, so that only a run against a server (`make live`) shows it: replicas, shards, consistency, snapshots,
quantised or approximate search, strict mode beyond field indexes, time-outs, writes that are only acknowledged, durable
field indexes (with `folder`, data and aliases stay, field indexes must be created again), and a server's speed.
"""

import json
import re
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client import models
from qdrant_client.local.qdrant_local import QdrantLocal

from tests.support.scripted_http import Reply, Request, Server, answering

VERSION = "1.20.0"
BODY_BYTES_MAX = 32 * 1024 * 1024

T = TypeVar("T")


class Refusal(Exception):
    """An error reply."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Call(NamedTuple):
    """One request to a route, with the collection that its path names."""

    collection: str
    field: str
    body: Any

    def parse(self, shape: type[T]) -> T:
        return TypeAdapter(shape).validate_python(self.body)


class Loopback:
    """Answers requests as a Qdrant server does."""

    def __init__(self, folder: Path | None = None, *, api_key: str = "", version: str = VERSION) -> None:
        self.calls: Counter[str] = Counter()
        self.delay = 0.0  #: seconds by which every reply comes late, as over a network
        # Without the option, the engine opens a database to find its value and never closes it (Python 3.13 warns).
        self._engine = QdrantLocal(str(folder) if folder else ":memory:", force_disable_check_same_thread=True)
        self._indexes: dict[str, dict[str, Any]] = {}  #: field schemas by collection
        self._settings: dict[str, dict[str, Any]] = {}  #: what each collection was created with
        self._api_key, self._version = api_key, version

    def __call__(self, request: Request) -> Reply:
        path = request.target.partition("?")[0]
        if path == "/loopback/trips":
            return Reply(json=self.calls)
        try:
            self._check(request, path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # local mode warns of everything it ignores
                result = self._route(request, path)
        except Refusal as refusal:
            if refusal.status == 401:
                return Reply(status=401, headers={"Content-Type": "text/plain"}, body=refusal.message.encode())
            return _error(refusal.status, refusal.message)
        except ValidationError as error:
            return _error(422, f"Validation error in JSON body: {error.errors()[0]['msg']}")
        except ValueError as error:
            return _failed(str(error))
        if path == "/":
            return Reply(json=result)
        return Reply(json={"result": result, "status": "ok", "time": 0.0}, delay=self.delay)

    def close(self) -> None:
        self._engine.close()

    def _check(self, request: Request, path: str) -> None:
        key = request.headers.get("api-key", "")
        if self._api_key and key != self._api_key and path not in ("/", "/healthz", "/readyz", "/livez"):
            message = "Invalid API key or JWT" if key else "Must provide an API key or an Authorization bearer token"
            raise Refusal(401, message)
        if len(request.body) > BODY_BYTES_MAX:
            raise Refusal(413, f"JSON payload ({len(request.body)} bytes) is larger than allowed")

    def _route(self, request: Request, path: str) -> Any:
        body = json.loads(request.body) if request.body else None
        for method, pattern, action in ROUTES:
            if method == request.method and (match := re.fullmatch(pattern, path)):
                named = {name: unquote(value) for name, value in match.groupdict().items()}
                self.calls[f"{method} {_label(pattern)}"] += 1
                return _plain(action(self, Call(named.get("c", ""), named.get("f", ""), body)))
        raise Refusal(404, "")

    def version(self, call: Call) -> Any:
        return {"title": "qdrant - vector search engine", "version": self._version, "commit": None}

    def collections(self, call: Call) -> Any:
        return self._engine.get_collections()

    def aliases(self, call: Call) -> Any:
        return self._engine.get_aliases()

    def change_aliases(self, call: Call) -> Any:
        return self._engine.update_collection_aliases(call.parse(models.ChangeAliasesOperation).actions)

    def cluster(self, call: Call) -> Any:
        return {"status": "disabled"}

    def exists(self, call: Call) -> Any:
        return {"exists": self._engine.collection_exists(call.collection)}

    def describe(self, call: Call) -> Any:
        described: dict[str, Any] = _plain(self._engine.get_collection(call.collection))
        name = self._name(call)
        created = self._settings.get(name, {})
        params = described["config"]["params"]
        params |= {name: created[name] for name in ("shard_number", "replication_factor") if name in created}
        params |= {name: created[name] for name in ("vectors", "sparse_vectors") if name in created}
        described["payload_schema"] = {
            field: {"data_type": _data_type(schema), "params": schema, "points": 0}
            for field, schema in self._indexes.get(name, {}).items()
        }
        return described

    def create(self, call: Call) -> Any:
        wanted = call.parse(models.CreateCollection)
        created = self._engine.create_collection(
            call.collection,
            vectors_config=wanted.vectors,
            sparse_vectors_config=wanted.sparse_vectors,
            metadata=wanted.metadata,
        )
        self._settings[call.collection] = call.body
        return created

    def update(self, call: Call) -> Any:
        wanted = call.parse(models.UpdateCollection)
        return self._engine.update_collection(call.collection, metadata=wanted.metadata)

    def drop(self, call: Call) -> Any:
        self._indexes.pop(call.collection, None)
        if collection := self._engine.collections.get(call.collection):
            collection.close()  # the engine deletes the file and leaves it open
        return self._engine.delete_collection(call.collection)

    def create_index(self, call: Call) -> Any:
        wanted = call.parse(models.CreateFieldIndex)
        result = self._engine.create_payload_index(call.collection, wanted.field_name, wanted.field_schema)
        self._indexes.setdefault(self._name(call), {})[wanted.field_name] = call.body["field_schema"]
        return result

    def drop_index(self, call: Call) -> Any:
        self._indexes.get(self._name(call), {}).pop(call.field, None)
        return self._engine.delete_payload_index(call.collection, call.field)

    def upsert(self, call: Call) -> Any:
        points = call.parse(models.PointsList).points
        if not points:
            raise Refusal(400, "Bad request: Empty update request")
        return self._engine.upsert(call.collection, points)

    def retrieve(self, call: Call) -> Any:
        wanted = call.parse(models.PointRequest)
        payload = True if wanted.with_payload is None else wanted.with_payload
        return self._engine.retrieve(call.collection, wanted.ids, payload, wanted.with_vector or False)

    def query(self, call: Call) -> Any:
        return self._query(call, call.parse(models.QueryRequest))

    def query_batch(self, call: Call) -> Any:
        return [self._query(call, wanted) for wanted in call.parse(models.QueryRequestBatch).searches]

    def scroll(self, call: Call) -> Any:
        wanted = call.parse(models.ScrollRequest)
        self._check_fields(call, wanted.filter)
        points, offset = self._engine.scroll(
            call.collection,
            scroll_filter=wanted.filter,
            limit=wanted.limit or 10,
            offset=wanted.offset,
            with_payload=True if wanted.with_payload is None else wanted.with_payload,
            with_vectors=wanted.with_vector or False,
        )
        return {"points": points, "next_page_offset": offset}

    def count(self, call: Call) -> Any:
        wanted = call.parse(models.CountRequest)
        self._check_fields(call, wanted.filter)
        return self._engine.count(call.collection, wanted.filter)

    def delete(self, call: Call) -> Any:
        wanted = call.parse(models.PointIdsList | models.FilterSelector)  # type: ignore[arg-type]
        if isinstance(wanted, models.FilterSelector):
            self._check_fields(call, wanted.filter)
        return self._engine.delete(call.collection, wanted)

    def facet(self, call: Call) -> Any:
        wanted = call.parse(models.FacetRequest)
        self._check_fields(call, wanted.filter)
        if wanted.key not in self._indexes.get(self._name(call), {}):
            raise Refusal(400, f"Bad request: Index required but not found for {wanted.key!r} of type keyword")
        # Not local mode's facet: it writes every value of 32 hexadecimal digits as a UUID, with hyphens.
        everything = self._engine.count(call.collection, wanted.filter).count
        points, _ = self._engine.scroll(call.collection, wanted.filter, limit=everything + 1, with_payload=[wanted.key])
        counted = Counter((point.payload or {}).get(wanted.key) for point in points)
        return {"hits": [{"value": value, "count": n} for value, n in counted.most_common(wanted.limit or 10)]}

    def _query(self, call: Call, wanted: models.QueryRequest) -> Any:
        self._check_query(call, wanted)
        return self._engine.query_batch_points(call.collection, [wanted])[0]

    def _check_query(self, call: Call, wanted: models.QueryRequest | models.Prefetch) -> None:
        self._check_fields(call, wanted.filter)
        idf = getattr(wanted.params, "idf", None)
        if idf is not None and wanted.using not in self._engine._get_collection(call.collection).sparse_vectors:
            raise Refusal(400, f"Wrong input: `idf` is only supported for sparse vectors, not for {wanted.using!r}")
        self._check_fields(call, getattr(idf, "corpus", None))
        prefetch = wanted.prefetch or []
        for inner in prefetch if isinstance(prefetch, list) else [prefetch]:
            self._check_query(call, inner)

    def _check_fields(self, call: Call, selection: models.Filter | None) -> None:
        """A server in strict mode refuses a filter on a field that has no index."""
        missing = set(_fields(selection)) - self._indexes.get(self._name(call), {}).keys()
        if missing:
            raise Refusal(400, f"Bad request: Index required but not found for {min(missing)!r} (strict mode)")

    def _name(self, call: Call) -> str:
        return self._engine.aliases.get(call.collection, call.collection)


ONE = r"/collections/(?P<c>[^/]+)"
ROUTES: list[tuple[str, str, Callable[[Loopback, Call], Any]]] = [
    ("GET", "/", Loopback.version),
    ("GET", "/cluster", Loopback.cluster),
    ("GET", "/aliases", Loopback.aliases),
    ("GET", "/collections", Loopback.collections),
    ("POST", "/collections/aliases", Loopback.change_aliases),
    ("GET", f"{ONE}/exists", Loopback.exists),
    ("GET", ONE, Loopback.describe),
    ("PUT", ONE, Loopback.create),
    ("PATCH", ONE, Loopback.update),
    ("DELETE", ONE, Loopback.drop),
    ("PUT", f"{ONE}/index", Loopback.create_index),
    ("DELETE", f"{ONE}/index/(?P<f>[^/]+)", Loopback.drop_index),
    ("PUT", f"{ONE}/points", Loopback.upsert),
    ("POST", f"{ONE}/points", Loopback.retrieve),
    ("POST", f"{ONE}/points/query", Loopback.query),
    ("POST", f"{ONE}/points/query/batch", Loopback.query_batch),
    ("POST", f"{ONE}/points/scroll", Loopback.scroll),
    ("POST", f"{ONE}/points/count", Loopback.count),
    ("POST", f"{ONE}/points/delete", Loopback.delete),
    ("POST", f"{ONE}/facet", Loopback.facet),
]


class LoopbackServer:
    """A running loopback of this process."""

    def __init__(self, loopback: Loopback, http: Server) -> None:
        self.loopback, self.http = loopback, http

    @property
    def url(self) -> str:
        return self.http.url

    def trips(self) -> dict[str, int]:
        """How often each route was called since the last call of this method."""
        counted = dict(self.loopback.calls)
        self.loopback.calls.clear()
        self.http.waits = 0
        return counted

    @property
    def waits(self) -> int:
        """Round trips that a client waited for since the last `trips`. Requests at the same time count once, if the
        loopback has a delay in which they meet."""
        return self.http.waits


@asynccontextmanager
async def qdrant_loopback(
    folder: Path | None = None, *, api_key: str = "", version: str = VERSION
) -> AsyncIterator[LoopbackServer]:
    """Serves in this process until the end of the block. Without a folder the data ends with the block."""
    loopback = Loopback(folder, api_key=api_key, version=version)
    try:
        async with answering(loopback) as http:
            yield LoopbackServer(loopback, http)
    finally:
        loopback.close()


def _error(status: int, message: str) -> Reply:
    return Reply(status=status, json={"status": {"error": message}, "time": 0.0})


def _failed(message: str) -> Reply:
    """Local mode raises ValueError for everything; a server has a status for each."""
    if found := re.search(r"Collection (\S+) not found", message):
        return _error(404, f"Not found: Collection `{found[1]}` doesn't exist!")
    if found := re.search(r"(?:Collection|Alias) (\S+) already exists", message):
        return _error(409, f"Wrong input: Collection `{found[1]}` already exists!")
    if found := re.search(r"shapes \(\d+,(\d+)\) and \((\d+),\) not aligned", message):
        return _error(400, f"Wrong input: Vector dimension error: expected dim: {found[1]}, got {found[2]}")
    return _error(400, f"Wrong input: {message.removeprefix('Wrong input: ')}")


def _fields(selection: models.Filter | None) -> Iterator[str]:
    for conditions in (selection.must, selection.should, selection.must_not) if selection else ():
        for condition in conditions if isinstance(conditions, list) else [conditions]:
            if isinstance(condition, models.Filter):
                yield from _fields(condition)
            elif isinstance(condition, models.FieldCondition):
                yield condition.key


def _label(pattern: str) -> str:
    """The route without its collection: `points/query/batch`."""
    return pattern.replace(f"{ONE}/", "").replace(ONE, "collection").replace("(?P<f>[^/]+)", "FIELD")


def _data_type(schema: Any) -> str:
    return str(schema if isinstance(schema, str) else schema["type"])


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
