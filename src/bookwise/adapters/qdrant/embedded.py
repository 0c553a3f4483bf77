"""LessonIndex on Qdrant's engine in this process: dense vectors and words in one shard on disk."""

import json
import math
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import qdrant_edge as qdrant

from bookwise.adapters.qdrant import filters
from bookwise.adapters.qdrant.collections import IDENTITY_FILE
from bookwise.adapters.qdrant.schema import (
    DENSE,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    TENANT,
    TEXT_FIELDS,
    WORDS,
    lesson_of,
    point_id,
    to_chunk,
    to_payload,
)
from bookwise.domain.books import Chunk, EmbeddedChunk, Vector
from bookwise.domain.errors import DamagedData, IndexUnavailable
from bookwise.domain.search import Candidate, Filter

T = TypeVar("T")

BM25_SATURATION = 1.2
BM25_MEAN_WORDS = 80.0
#: Up to here every vector is compared exactly; beyond, two-bit vectors choose and exact ones decide.
EXACT_UP_TO = 5_000
OVERSAMPLING = 2.0
PAGE = 1_000
MANY = 10_000_000


@asynccontextmanager
async def open_index(folder: Path, *, size: int) -> AsyncIterator["EmbeddedIndex"]:
    """The index in `folder`, made when absent. The caller holds the data folder: one process at a time."""
    index = await anyio.to_thread.run_sync(partial(_opened, folder, size))
    try:
        yield index
    finally:
        with anyio.CancelScope(shield=True):
            await index.close()


def _opened(folder: Path, size: int) -> "EmbeddedIndex":
    identity = folder / IDENTITY_FILE
    try:
        if identity.exists():
            shard = qdrant.EdgeShard.load(str(folder), None)
            _read_ahead(folder)
        else:
            shard = _created(folder, size)
            identity.write_text(json.dumps({"id": str(uuid.uuid4()), "size": size}))
        return EmbeddedIndex(shard, json.loads(identity.read_text())["id"])
    except BaseException as error:
        if not _is_from_engine(error):
            raise
        raise DamagedData(
            f"The index in {folder} cannot be opened: {error}",
            advice=f"Delete {folder} and run `bookwise ingest` again; threads and jobs are not touched.",
        ) from error


def _read_ahead(folder: Path) -> None:
    """Asks the system, where it can be asked, to fetch the payloads from the disk before a reader waits for them. It
    costs this process a few milliseconds and no memory; a refusal costs nothing but the wait."""
    if not hasattr(os, "posix_fadvise"):
        return
    for file in folder.glob("segments/*/payload_storage/*.dat"):
        with suppress(OSError), file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)


def _created(folder: Path, size: int) -> qdrant.EdgeShard:
    folder.mkdir(parents=True, exist_ok=True)
    config = qdrant.EdgeConfig(
        vectors={
            DENSE: qdrant.EdgeVectorParams(
                size=size,
                distance=qdrant.Distance.Cosine,
                quantization_config=qdrant.TurboQuantQuantizationConfig(
                    memory=qdrant.Memory.Pinned, bits=qdrant.TurboQuantBitSize.Bits2
                ),
            )
        },
        sparse_vectors={WORDS: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
        max_search_threads=1,
    )
    shard = qdrant.EdgeShard.create(str(folder), config)
    for field in KEYWORD_FIELDS:
        params = qdrant.KeywordIndexParams(is_tenant=field == TENANT)
        shard.update(qdrant.UpdateOperation.create_field_index(field, params))
    for field in INTEGER_FIELDS:
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.PayloadSchemaType.Integer))
    for field in TEXT_FIELDS:
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.PayloadSchemaType.Text))
    shard.flush()
    return shard


class EmbeddedIndex:
    """One shard. Writing happens off the event loop, one call at a time; looking up happens on it, because the
    engine holds the interpreter during a call and a thread would only add its own cost."""

    def __init__(self, shard: qdrant.EdgeShard, identity: str) -> None:
        self.id = identity
        self._shard: Any = shard  # its stubs are wider than what it takes and gives here
        self._slot = anyio.CapacityLimiter(1)
        self._words = qdrant.Bm25(qdrant.Bm25Config(k=BM25_SATURATION, avg_len=BM25_MEAN_WORDS))
        self._rarity = lru_cache(maxsize=100_000)(self._measured_rarity)
        self._size = lru_cache(maxsize=1_000)(self._measured_size)
        self._learn()

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        await self._off_loop(partial(self._stage, chunks))

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        with _translated():
            return self._nearest(vector, words, within, limit)

    async def read(self, refs: Sequence[int]) -> list[Chunk | None]:
        with _translated():
            return self._read(list(refs))

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        wanted = [filters.equals(TENANT, book_id), filters.equals("parent_doc_id", lesson_id)]
        with _translated():
            chunks = self._scroll(wanted)
        return sorted(chunks, key=lambda c: (c.revision, c.index))

    async def chunk(self, book_id: str | None, chunk_id: str) -> list[Chunk]:
        wanted = [filters.equals("chunk_id", chunk_id)]
        if book_id is not None:
            wanted.append(filters.equals(TENANT, book_id))
        with _translated():
            return self._scroll(wanted)

    async def revisions(self, book_id: str) -> dict[str, int]:
        request = qdrant.FacetRequest(key="revision", limit=MANY, exact=True, filter=filters.of_book(book_id))
        hits = await self._off_loop(lambda: self._shard.facet(request).hits)
        return {str(hit.value): hit.count for hit in hits}

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        if not revisions:
            return 0
        return await self._off_loop(partial(self._remove, book_id, list(revisions)))

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not chunk_ids:
            return {}
        with _translated():
            return self._vectors(book_id, list(chunk_ids))

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        with _translated():
            return self._unknown(book_id, words)

    async def close(self) -> None:
        await self._off_loop(self._shard.close)

    async def _off_loop(self, call: Callable[[], T]) -> T:
        with _translated():
            return await anyio.to_thread.run_sync(call, limiter=self._slot)

    def _stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        for start in range(0, len(chunks), PAGE):
            points = [self._point(embedded) for embedded in chunks[start : start + PAGE]]
            self._shard.update(qdrant.UpdateOperation.upsert_points(points))
        self._changed()

    def _point(self, embedded: EmbeddedChunk) -> qdrant.Point:
        chunk = embedded.chunk
        vectors: dict[str, Any] = {
            DENSE: list(embedded.vector),
            WORDS: self._words.embed_document(_lexical_text(chunk)),
        }
        payload = to_payload(chunk) | {
            "embedding_model": embedded.embedding_model,
            "embedded_at": embedded.embedded_at.isoformat(),
        }
        return qdrant.Point(point_id(chunk), vectors, payload)

    def _remove(self, book_id: str, revisions: list[str]) -> int:
        wanted = qdrant.Filter(must=[filters.equals(TENANT, book_id), filters.any_of("revision", revisions)])
        count = self._shard.count(qdrant.CountRequest(filter=wanted, exact=True))
        self._shard.update(qdrant.UpdateOperation.delete_points_by_filter(wanted))
        self._changed()
        return int(count)

    def _changed(self) -> None:
        self._shard.flush()
        self._rarity.cache_clear()
        self._size.cache_clear()
        self._learn()

    def _learn(self) -> None:
        """What the shard holds decides how it is asked. A book that is alone in it is searched without looking at
        the book of every chunk, which takes as long as comparing its vector. The quick count may still name a book that
        is gone, never leave one out."""
        self._count = self._shard.info().points_count
        books = self._shard.facet(qdrant.FacetRequest(key=TENANT, limit=2, exact=False)).hits
        self._only_book = str(books[0].value) if len(books) == 1 else None

    def _read(self, refs: list[int]) -> list[Chunk | None]:
        found = {record.id: record.payload for record in self._shard.retrieve(refs, True, False)}
        return [to_chunk(payload) if (payload := found.get(ref)) else None for ref in refs]

    def _scroll(self, conditions: list[Any]) -> list[Chunk]:
        return [to_chunk(record.payload) for record in self._records(conditions, with_vector=False)]

    def _vectors(self, book_id: str, chunk_ids: list[str]) -> dict[str, Vector]:
        wanted = [filters.equals(TENANT, book_id), filters.any_of("chunk_id", chunk_ids)]
        records = self._records(wanted, with_vector=[DENSE])
        return {record.payload["chunk_id"]: tuple(record.vector[DENSE]) for record in records}

    def _records(self, conditions: list[Any], *, with_vector: bool | list[str]) -> Iterable[Any]:
        offset = None
        while True:
            request = qdrant.ScrollRequest(
                offset=offset,
                limit=PAGE,
                filter=qdrant.Filter(must=conditions),
                with_payload=True,
                with_vector=with_vector,
            )
            records, offset = self._shard.scroll(request)
            yield from records
            if offset is None:
                return

    def _nearest(self, vector: Vector, words: str, within: Filter, limit: int) -> list[Candidate]:
        wanted = filters.to_qdrant(within, only_book=self._only_book)
        meaning = partial(self._by_meaning, list(vector))
        terms = self._words.embed_query(words)
        wording = partial(self._by_wording, terms, within.book_id)
        cosines, scores = self._ask(meaning(wanted, limit), wording(wanted, limit))
        missing_words = [ref for ref in cosines if ref not in scores]
        missing_cosines = [ref for ref in scores if ref not in cosines]
        more_cosines, more_scores = self._ask(
            meaning(_these(missing_cosines), len(missing_cosines), exact=True),
            wording(_these(missing_words), len(missing_words)),
        )
        cosines, scores = cosines | more_cosines, scores | more_scores
        most = self._most_possible(terms, within.book_id)
        return [
            Candidate(ref=ref, lesson=lesson_of(ref), cosine=cosine, lexical=min(1.0, scores.get(ref, 0.0) / most))
            for ref, cosine in cosines.items()
        ]

    def _ask(self, *queries: qdrant.QueryRequest | None) -> list[dict[int, float]]:
        """Scores by reference. One query at a time: the engine's batch took half as long again here."""
        return [{p.id: p.score for p in self._shard.query(query)} if query else {} for query in queries]

    def _by_meaning(
        self, vector: list[float], wanted: qdrant.Filter | None, limit: int, *, exact: bool = False
    ) -> qdrant.QueryRequest | None:
        if not limit:
            return None
        rescored = qdrant.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return qdrant.QueryRequest(
            limit=limit,
            query=qdrant.Query.Nearest(vector, using=DENSE),
            filter=wanted,
            params=qdrant.SearchParams(exact=exact or self._count <= EXACT_UP_TO, quantization=rescored),
            with_payload=False,
        )

    def _by_wording(
        self, terms: qdrant.SparseVector, book_id: str, wanted: qdrant.Filter | None, limit: int
    ) -> qdrant.QueryRequest | None:
        if not limit or not terms.indices:
            return None
        return qdrant.QueryRequest(
            limit=limit,
            query=qdrant.Query.Nearest(terms, using=WORDS),
            filter=wanted,
            params=self._statistics(book_id),
            with_payload=False,
        )

    def _statistics(self, book_id: str) -> qdrant.SearchParams | None:
        """Which words are rare is a matter of one book; alone in the shard, its statistics come for free."""
        if self._only_book == book_id:
            return None
        return qdrant.SearchParams(idf=qdrant.IdfParams(corpus=filters.of_book(book_id)))

    def _most_possible(self, terms: qdrant.SparseVector, book_id: str) -> float:
        """The score of a chunk that is full of every term: what makes lexical scores comparable."""
        strange = math.log(2 * self._size(book_id) + 2)
        rarities = (self._rarity(book_id, term) for term in terms.indices)
        rarity = sum(strange if known is None else known for known in rarities)
        return max(rarity * (BM25_SATURATION + 1), 1e-9)

    def _unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        return frozenset(
            word
            for word in words
            if any(self._rarity(book_id, term) is None for term in self._words.embed_query(word).indices)
        )

    def _measured_size(self, book_id: str) -> int:
        """How many chunks of a book there are."""
        return int(self._shard.count(qdrant.CountRequest(filter=filters.of_book(book_id), exact=True)))

    def _measured_rarity(self, book_id: str, term: int) -> float | None:
        """The engine's inverse document frequency of a term in a book, read off its best chunk; None for a term
        that is in no chunk."""
        request = qdrant.QueryRequest(
            limit=1,
            query=qdrant.Query.Nearest(qdrant.SparseVector([term], [1.0]), using=WORDS),
            filter=filters.to_qdrant(Filter(book_id=book_id), only_book=self._only_book),
            params=self._statistics(book_id),
            with_payload=False,
            with_vector=[WORDS],
        )
        found = self._shard.query(request)
        if not found:
            return None
        weights = found[0].vector[WORDS]
        return float(found[0].score / weights.values[weights.indices.index(term)])


def _is_from_engine(error: BaseException) -> bool:
    """The engine raises bare exceptions, and panics as something that is not even an `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if not _is_from_engine(error):
            raise
        raise IndexUnavailable(
            f"The index refused the call: {error}",
            advice="Is the disk full? `bookwise doctor` compares the index with the book.",
        ) from error


def _lexical_text(chunk: Chunk) -> str:
    """A word of the title path counts like three words of the text."""
    where = chunk.locator
    titles = " ".join((where.page_title, *where.heading_path))
    return f"{titles}\n{titles}\n{titles}\n{chunk.text}"


def _these(refs: list[int]) -> qdrant.Filter:
    return qdrant.Filter(must=[qdrant.HasIdCondition(set(refs))])
