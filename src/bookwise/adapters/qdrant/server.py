"""LessonIndex on a Qdrant server or cluster: the same points, terms and scores as in the process, over HTTP.

Other processes may write at any time, so nothing that depends on the stored chunks is cached.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import anyio
import httpx
from qdrant_client import AsyncQdrantClient, models

from bookwise.adapters.qdrant import conditions, lexical
from bookwise.adapters.qdrant.candidates import to_candidates
from bookwise.adapters.qdrant.conditions import Condition
from bookwise.adapters.qdrant.pages import pages
from bookwise.adapters.qdrant.schema import (
    DENSE,
    TENANT,
    WORDS,
    by_revision,
    point_id,
    to_chunk,
    to_embedded,
    to_payload,
)
from bookwise.adapters.qdrant.server_calls import ServerCalls, ServerTimeouts
from bookwise.adapters.qdrant.server_collection import CollectionOptions, ServerCollection, stored_identities
from bookwise.adapters.qdrant.server_errors import NotCompleted
from bookwise.adapters.qdrant.server_filter import to_filter
from bookwise.adapters.qdrant.terms import TermEncoder, Terms
from bookwise.adapters.qdrant.verify import count_sound
from bookwise.adapters.tls import CONNECT_SECONDS, tls_context
from bookwise.domain.books import Chunk, EmbeddedChunk, Vector
from bookwise.domain.errors import IndexUnavailable
from bookwise.domain.search import Candidate, Filter
from bookwise.retrieval.concurrency import concurrently

SCROLL_PAGE = 256
FACETS_FIRST = 10_000  #: revisions of a book that are asked for first; more only if there are as many
SEARCHES_PER_CALL = 100
OVERSAMPLING = 2.0
#: With 128, recall@10 at 400,000 chunks is .89 in 4.0 ms; with 512 it is .97 in 6.3 ms (docs/benchmarks.md).
SEARCH_BREADTH = 512
CONNECTIONS_MAX = 64
ABSENT_POINT = 0  #: as good as any other: the server answers, or does not
NO_CLIENT_TIMEOUT = 86_400  #: seconds; every call has its own deadline
#: A server sends a compressed reply in small parts, and a part waits for the acknowledgement of the one before it: this
#: cost 40 ms per question.
PLAIN_REPLIES = {"Accept-Encoding": "identity"}

ReadConsistency: TypeAlias = int | models.ReadConsistencyType | None
Scores: TypeAlias = dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where the server is, and how it is asked."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeouts: ServerTimeouts = field(default_factory=ServerTimeouts)
    consistency: int | str | None = None  #: replicas that must agree on a read: a number, majority, quorum or all

    @property
    def shown(self) -> str:
        """Host and port, without secrets."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


@asynccontextmanager
async def open_server_index(address: ServerAddress, options: CollectionOptions) -> AsyncIterator["ServerIndex"]:
    """The index of one embedder on the server, created when absent. Several processes may use it at the same time.

    Raises `Misconfigured` for a wrong address, key, version or collection, and `IndexUnavailable` if the server is.
    """
    async with _connected(address) as (client, calls):
        collection = ServerCollection(client, calls, options)
        yield ServerIndex(client, calls, collection, identity=await collection.open(), address=address)


async def identities_on_server(address: ServerAddress, *, fingerprint: str = "") -> Mapping[str, str]:
    """The identity of each collection of Bookwise on the server, by name."""
    async with _connected(address) as (client, calls):
        return await stored_identities(client, calls, fingerprint=fingerprint)


@asynccontextmanager
async def _connected(address: ServerAddress) -> AsyncIterator[tuple[AsyncQdrantClient, ServerCalls]]:
    client = AsyncQdrantClient(
        url=address.url,
        # As a header: as `api_key`, the client warns about every http address, also on this machine.
        headers=PLAIN_REPLIES | ({"api-key": address.api_key} if address.api_key else {}),
        timeout=NO_CLIENT_TIMEOUT,
        check_compatibility=False,  # it only warns, and from another thread
        limits=httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX),
        verify=tls_context(),
        event_hooks={"request": [_limit_handshake]},
    )
    try:
        yield client, ServerCalls(address.shown, address.timeouts)
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()


async def _limit_handshake(request: httpx.Request) -> None:
    """The client has one time for all: only that of connecting is shorter."""
    request.extensions["timeout"]["connect"] = CONNECT_SECONDS


class ServerIndex:
    """One collection on a server."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        calls: ServerCalls,
        collection: ServerCollection,
        *,
        identity: str,
        address: ServerAddress,
    ) -> None:
        self.id = identity
        self._client, self._calls, self._collection = client, calls, collection
        self._name = collection.name
        self._consistency = _consistency(address.consistency)
        self._terms = TermEncoder()

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        for page in pages(chunks):
            points = [self._point(embedded) for embedded in page]
            await self._write(partial(self._client.upsert, self._name, points))
        if chunks:
            await self._require_same_data()

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        """One round trip: both scores of the best by meaning and by words, and the rarity of each word."""
        terms = self._terms.of_query(words)
        wanted = to_filter(conditions.of_search(within))
        searches = [
            *_scoring(list(vector), terms, wanted, _of_book(within.book_id), limit),
            *_rarities(terms.indices, within.book_id),
        ]
        answers, counted = await concurrently(
            partial(self._query, searches), partial(self._count, [conditions.of_book(within.book_id)])
        )
        cosines, *others = answers
        if not terms.indices:
            return to_candidates(_scores(cosines), {}, 1.0)
        scores, *rarest = others
        idfs = [_idf(answer, term) for answer, term in zip(rarest, terms.indices, strict=True)]
        return to_candidates(_scores(cosines), _scores(scores), lexical.maximum_score(idfs, counted))

    async def read(self, book_id: str, refs: Sequence[int]) -> list[Chunk | None]:
        if not refs:
            return []
        records = await self._calls.read(
            lambda: self._client.retrieve(self._name, list(refs), consistency=self._consistency)
        )
        payloads = {r.id: r.payload for r in records if r.payload and r.payload.get(TENANT) == book_id}
        return [to_chunk(payload) if (payload := payloads.get(ref)) else None for ref in refs]

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        chunks = await self._chunks(conditions.of_lesson(book_id, lesson_id))
        return sorted(chunks, key=lambda chunk: (chunk.revision, chunk.index))

    async def chunk(self, book_id: str, chunk_id: str) -> list[Chunk]:
        return await self._chunks(conditions.of_chunk(book_id, chunk_id))

    async def check(self) -> None:
        await self._calls.read(lambda: self._client.retrieve(self._name, [ABSENT_POINT], with_payload=False))

    async def revisions(self, book_id: str) -> dict[str, int]:
        limit = FACETS_FIRST
        while True:
            hits = await self._facets("revision", book_id, limit)
            if len(hits) < limit:
                return {str(hit.value): hit.count for hit in hits}
            limit *= 10

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        if not revisions:
            return 0
        wanted = conditions.of_revisions(book_id, list(revisions))
        count = await self._count(wanted)
        selector = models.FilterSelector(filter=to_filter(wanted))
        await self._write(partial(self._client.delete, self._name, selector))
        return count

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not chunk_ids:
            return {}
        wanted = conditions.of_chunks(book_id, list(chunk_ids))
        records = await self._records(wanted, with_payload=["chunk_id"], with_vectors=[DENSE])
        return {record.payload["chunk_id"]: tuple(record.vector[DENSE]) for record in records}

    async def export(self, book_id: str, revisions: Sequence[str]) -> list[EmbeddedChunk]:
        if not revisions:
            return []
        wanted = conditions.of_revisions(book_id, list(revisions))
        records = await self._records(wanted, with_vectors=[DENSE])
        exported = (to_embedded(record.payload, tuple(record.vector[DENSE])) for record in records)
        return sorted((chunk for chunk in exported if chunk is not None), key=by_revision)

    async def verify(self, book_id: str) -> dict[str, int]:
        records = await self._records([conditions.of_book(book_id)], with_vectors=[DENSE, WORDS])
        return count_sound(records, self._terms)

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        terms = {word: self._terms.of_query(word).indices for word in words}
        searched = sorted({term for indices in terms.values() for term in indices})
        answers = await self._query([_term_search(term, book_id) for term in searched])
        unknown = {term for term, answer in zip(searched, answers, strict=True) if not answer.points}
        return frozenset(word for word, indices in terms.items() if not unknown.isdisjoint(indices))

    async def switch_alias(self) -> None:
        """Makes the configured collection name an alias of this collection."""
        await self._collection.switch_alias()

    async def _require_same_data(self) -> None:
        """Raises `IndexUnavailable` if the collection was replaced since it was opened: its chunks would be recorded
        as part of data that no longer exists."""
        if await self._collection.identity() != self.id:
            raise IndexUnavailable(
                f"The collection {self._name!r} on Qdrant at {self._calls.server} was replaced by another process.",
                advice="Start Bookwise again, and ingest the books again.",
            )

    def _point(self, embedded: EmbeddedChunk) -> models.PointStruct:
        vectors: dict[str, Any] = {
            DENSE: list(embedded.vector),
            WORDS: _sparse(self._terms.of_chunk(embedded.chunk)),
        }
        return models.PointStruct(id=point_id(embedded.chunk), vector=vectors, payload=to_payload(embedded))

    async def _write(self, change: Callable[..., Awaitable[models.UpdateResult]]) -> None:
        """Returns when the server has applied the change: one that is only acknowledged may still be lost."""

        async def write() -> None:
            result = await change(wait=True, ordering=models.WriteOrdering.STRONG)
            if result.status != models.UpdateStatus.COMPLETED:
                raise NotCompleted(f"accepted a write without completing it ({result.status})")

        await self._calls.write(write)

    async def _query(self, searches: Sequence[models.QueryRequest]) -> list[models.QueryResponse]:
        """One answer per search. Many searches are sent in several calls at the same time."""
        parts = [searches[start : start + SEARCHES_PER_CALL] for start in range(0, len(searches), SEARCHES_PER_CALL)]
        answers = await concurrently(*(partial(self._query_part, part) for part in parts))
        return [answer for part in answers for answer in part]

    async def _query_part(self, searches: Sequence[models.QueryRequest]) -> list[models.QueryResponse]:
        """One call, through the client's REST interface: the client's own method first copies every search deeply.
        This takes 1.3 ms, twice as long as building and encoding the searches."""
        batch = models.QueryRequestBatch(searches=list(searches))

        async def query() -> list[models.QueryResponse]:
            response = await self._client.http.search_api.query_batch_points(
                self._name,
                self._consistency,  # type: ignore[arg-type]  # None is the default
                query_request_batch=batch,
            )
            assert response.result is not None, "a batch without results"
            return response.result

        return await self._calls.read(query)

    async def _count(self, wanted: list[Condition]) -> int:
        selection = to_filter(wanted)
        result = await self._calls.read(lambda: self._client.count(self._name, selection, exact=True))
        return result.count

    async def _facets(self, key: str, book_id: str, limit: int) -> list[models.FacetValueHit]:
        selection = _of_book(book_id)
        response = await self._calls.read(
            lambda: self._client.facet(
                self._name, key, selection, limit=limit, exact=True, consistency=self._consistency
            )
        )
        return response.hits

    async def _chunks(self, wanted: list[Condition]) -> list[Chunk]:
        found = [to_chunk(record.payload) for record in await self._records(wanted)]
        return [chunk for chunk in found if chunk is not None]

    async def _records(
        self, wanted: list[Condition], *, with_payload: bool | list[str] = True, with_vectors: bool | list[str] = False
    ) -> list[Any]:
        scroll = partial(
            self._client.scroll,
            self._name,
            scroll_filter=to_filter(wanted),
            limit=SCROLL_PAGE,
            with_payload=with_payload,
            with_vectors=with_vectors,
            consistency=self._consistency,
        )
        records: list[Any] = []
        offset: Any = None
        while True:
            page, offset = await self._calls.read(partial(scroll, offset=offset))
            records += page
            if offset is None:
                return records


def _scoring(
    vector: list[float], terms: Terms, wanted: models.Filter, book: models.Filter, limit: int
) -> list[models.QueryRequest]:
    """The best chunks by meaning and by words, once with their cosines and once with their word scores."""
    by_meaning = models.Prefetch(query=vector, using=DENSE, filter=wanted, params=_RESCORED, limit=limit)
    if not terms.indices:
        return [models.QueryRequest(query=vector, using=DENSE, filter=wanted, params=_RESCORED, limit=limit)]
    sparse, statistics = _sparse(terms), _statistics(book)
    by_words = models.Prefetch(query=sparse, using=WORDS, filter=wanted, params=statistics, limit=limit)
    both = [by_meaning, by_words]
    return [
        models.QueryRequest(prefetch=both, query=vector, using=DENSE, params=_RESCORED, limit=2 * limit),
        models.QueryRequest(prefetch=both, query=sparse, using=WORDS, params=statistics, limit=2 * limit),
    ]


def _rarities(terms: Sequence[int], book_id: str) -> list[models.QueryRequest]:
    return [_term_search(term, book_id) for term in terms]


def _term_search(term: int, book_id: str) -> models.QueryRequest:
    """The best chunk for one term, with its weights: score and weight give the rarity of the term in the book."""
    return models.QueryRequest(
        query=models.SparseVector(indices=[term], values=[1.0]),
        using=WORDS,
        filter=_of_book(book_id),
        params=_statistics(_of_book(book_id)),
        limit=1,
        with_vector=[WORDS],
    )


def _idf(answer: models.QueryResponse, term: int) -> float | None:
    """The inverse document frequency of a term; None for a term that occurs in no chunk."""
    if not answer.points:
        return None
    point: Any = answer.points[0]
    weights = point.vector[WORDS]
    return lexical.term_idf(point.score, weights.values[weights.indices.index(term)])


_RESCORED = models.SearchParams(
    hnsw_ef=SEARCH_BREADTH, quantization=models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
)  #: small copies of the vectors choose the candidates, the vectors themselves give the scores


def _statistics(book: models.Filter) -> models.SearchParams:
    """Document frequencies from the stored chunks of one book. Those of the whole collection count removed chunks."""
    return models.SearchParams(idf=models.IdfCorpusParams(corpus=book))


def _of_book(book_id: str) -> models.Filter:
    return to_filter([conditions.of_book(book_id)])


def _sparse(terms: Terms) -> models.SparseVector:
    return models.SparseVector(indices=terms.indices, values=terms.values)


def _scores(answer: models.QueryResponse) -> Scores:
    return {int(point.id): point.score for point in answer.points}


def _consistency(setting: int | str | None) -> ReadConsistency:
    return models.ReadConsistencyType(setting) if isinstance(setting, str) else setting
