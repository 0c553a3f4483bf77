"""LessonIndex on Qdrant's engine in this process: dense vectors and BM25 terms in one shard on disk."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import qdrant_edge as qdrant

from bookwise.adapters.disk_space import require_space
from bookwise.adapters.qdrant import conditions, lexical
from bookwise.adapters.qdrant.candidates import to_candidates
from bookwise.adapters.qdrant.conditions import Condition
from bookwise.adapters.qdrant.embedded_filter import to_filter
from bookwise.adapters.qdrant.engine_errors import engine_errors, opening_errors
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
from bookwise.adapters.qdrant.shard import Shard, open_shard
from bookwise.adapters.qdrant.terms import TermEncoder, Terms
from bookwise.adapters.qdrant.verify import count_sound
from bookwise.domain.books import Chunk, EmbeddedChunk, Vector
from bookwise.domain.search import Candidate, Filter

T = TypeVar("T")

#: Up to this many chunks every vector is compared exactly. Beyond it, 2-bit vectors preselect and exact ones decide
#: (docs/decisions/0003).
EXACT_UP_TO = 5_000
OVERSAMPLING = 8.0  #: recall@10 at 40,000 chunks is .992 with 4 and .999 with 8, in the same time (docs/benchmarks.md)
PAGE_SIZE = 1_000
NO_LIMIT = 10_000_000


@asynccontextmanager
async def open_index(folder: Path, *, size: int) -> AsyncIterator["EmbeddedIndex"]:
    """The index in `folder`, created when absent.

    The caller must hold the lock of the data folder. Raises `DiskFull` without space to create it, `DamagedData`,
    `IndexVersionMismatch` or `DataFolderBusy` if its files cannot be opened, and what the operating system reports.
    """
    with opening_errors(folder):
        index = await anyio.to_thread.run_sync(lambda: EmbeddedIndex(open_shard(folder, size)))
    try:
        yield index
    finally:
        with anyio.CancelScope(shield=True):
            await index.close()


class EmbeddedIndex:
    """One shard. Writes run in a worker thread, one at a time. Reads run on the event loop: the engine holds the
    interpreter lock during a call, so a thread would only add overhead."""

    def __init__(self, shard: Shard) -> None:
        self.id = shard.id
        self._identity = shard.identity
        self._engine = shard.engine
        self._write_slot = anyio.CapacityLimiter(1)
        self._terms = TermEncoder()
        self._has_stale_frequencies = False  #: the engine still counts chunks that were removed
        self._idf = lru_cache(maxsize=100_000)(self._query_idf)
        self._chunk_count = lru_cache(maxsize=1_000)(self._count_chunks)
        self._refresh_facts()

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        await self._in_thread(partial(self._stage, chunks))

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        with engine_errors():
            return self._nearest(vector, words, within, limit)

    async def read(self, refs: Sequence[int]) -> list[Chunk | None]:
        with engine_errors():
            return self._read(list(refs))

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        with engine_errors():
            chunks = self._chunks(conditions.of_lesson(book_id, lesson_id))
        return sorted(chunks, key=lambda chunk: (chunk.revision, chunk.index))

    async def chunk(self, book_id: str | None, chunk_id: str) -> list[Chunk]:
        with engine_errors():
            return self._chunks(conditions.of_chunk(book_id, chunk_id))

    async def revisions(self, book_id: str) -> dict[str, int]:
        request = qdrant.FacetRequest(key="revision", limit=NO_LIMIT, exact=True, filter=_of_book(book_id))
        facets = await self._in_thread(lambda: self._engine.facet(request).hits)
        return {str(facet.value): facet.count for facet in facets}

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        if not revisions:
            return 0
        return await self._in_thread(partial(self._remove, book_id, list(revisions)))

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not chunk_ids:
            return {}
        with engine_errors():
            return self._vectors(book_id, list(chunk_ids))

    async def export(self, book_id: str, revisions: Sequence[str]) -> list[EmbeddedChunk]:
        if not revisions:
            return []
        return await self._in_thread(partial(self._export, book_id, list(revisions)))

    async def verify(self, book_id: str) -> dict[str, int]:
        return await self._in_thread(partial(self._verify, book_id))

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        with engine_errors():
            return frozenset(word for word in words if self._is_unknown(book_id, word))

    @asynccontextmanager
    async def hold_writes(self) -> AsyncIterator[None]:
        """Inside the block nothing is written, and the files contain everything that was written before."""
        async with self._write_slot:
            yield

    async def close(self) -> None:
        await self._in_thread(self._engine.close)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        with engine_errors():
            return await anyio.to_thread.run_sync(call, limiter=self._write_slot)

    def _stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        for page in pages(chunks):
            require_space(self._identity.parent)
            points = [self._point(embedded) for embedded in page]
            self._engine.update(qdrant.UpdateOperation.upsert_points(points))
        self._commit()

    def _point(self, embedded: EmbeddedChunk) -> qdrant.Point:
        chunk = embedded.chunk
        words = qdrant.SparseVector(*self._terms.of_chunk(chunk))
        vectors: dict[str, Any] = {DENSE: list(embedded.vector), WORDS: words}
        return qdrant.Point(point_id(chunk), vectors, to_payload(embedded))

    def _remove(self, book_id: str, revisions: list[str]) -> int:
        require_space(self._identity.parent)
        selection = to_filter(conditions.of_revisions(book_id, revisions))
        count = self._engine.count(qdrant.CountRequest(filter=selection, exact=True))
        self._engine.update(qdrant.UpdateOperation.delete_points_by_filter(selection))
        self._has_stale_frequencies |= bool(count)
        self._commit()
        return int(count)

    def _commit(self) -> None:
        self._engine.flush()
        self._identity.touch()
        self._idf.cache_clear()
        self._chunk_count.cache_clear()
        self._refresh_facts()

    def _refresh_facts(self) -> None:
        """Reads what decides how the shard is queried.

        A book that is alone in the shard is searched without a book filter: checking the book of every chunk takes as
        long as comparing its vector. The approximate facet may still list a removed book, but never omits one.
        """
        self._total = self._engine.info().points_count
        books = self._engine.facet(qdrant.FacetRequest(key=TENANT, limit=2, exact=False)).hits
        self._only_book = str(books[0].value) if len(books) == 1 else None

    def _read(self, refs: list[int]) -> list[Chunk | None]:
        payloads = {record.id: record.payload for record in self._engine.retrieve(refs, True, False)}
        return [to_chunk(payload) if (payload := payloads.get(ref)) else None for ref in refs]

    def _chunks(self, wanted: list[Condition]) -> list[Chunk]:
        found = (to_chunk(record.payload) for record in self._records(wanted))
        return [chunk for chunk in found if chunk is not None]

    def _vectors(self, book_id: str, chunk_ids: list[str]) -> dict[str, Vector]:
        wanted = conditions.of_chunks(book_id, chunk_ids)
        records = self._records(wanted, with_payload=["chunk_id"], with_vector=[DENSE])
        return {record.payload["chunk_id"]: tuple(record.vector[DENSE]) for record in records}

    def _export(self, book_id: str, revisions: list[str]) -> list[EmbeddedChunk]:
        records = self._records(conditions.of_revisions(book_id, revisions), with_vector=[DENSE])
        exported = (to_embedded(record.payload, tuple(record.vector[DENSE])) for record in records)
        return sorted((chunk for chunk in exported if chunk is not None), key=by_revision)

    def _verify(self, book_id: str) -> dict[str, int]:
        records = self._records([conditions.of_book(book_id)], with_vector=[DENSE, WORDS])
        return count_sound(records, self._terms)

    def _records(
        self, wanted: list[Condition], *, with_payload: bool | list[str] = True, with_vector: bool | list[str] = False
    ) -> Iterable[Any]:
        offset = None
        while True:
            request = qdrant.ScrollRequest(
                offset=offset,
                limit=PAGE_SIZE,
                filter=to_filter(wanted),
                with_payload=with_payload,
                with_vector=with_vector,
            )
            records, offset = self._engine.scroll(request)
            yield from records
            if offset is None:
                return

    def _nearest(self, vector: Vector, words: str, within: Filter, limit: int) -> list[Candidate]:
        wanted = conditions.of_search(within)[within.book_id == self._only_book :]
        selection = to_filter(wanted) if wanted else None
        terms = self._terms.of_query(words)
        dense = partial(self._dense_scores, list(vector))
        sparse = partial(self._lexical_scores, terms, within.book_id)
        cosines, scores = dense(selection, limit), sparse(selection, limit)
        without_score = [ref for ref in cosines if ref not in scores]
        without_cosine = [ref for ref in scores if ref not in cosines]
        cosines |= dense(_only(without_cosine), len(without_cosine), exact=True)
        scores |= sparse(_only(without_score), len(without_score))
        return to_candidates(cosines, scores, self._maximum_score(terms, within.book_id))

    def _dense_scores(
        self, vector: list[float], selection: qdrant.Filter | None, limit: int, *, exact: bool = False
    ) -> dict[int, float]:
        if not limit:
            return {}
        rescoring = qdrant.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return self._scores(
            qdrant.QueryRequest(
                limit=limit,
                query=qdrant.Query.Nearest(vector, using=DENSE),
                filter=selection,
                params=qdrant.SearchParams(exact=exact or self._total <= EXACT_UP_TO, quantization=rescoring),
                with_payload=False,
            )
        )

    def _lexical_scores(
        self, terms: Terms, book_id: str, selection: qdrant.Filter | None, limit: int
    ) -> dict[int, float]:
        if not limit or not terms.indices:
            return {}
        return self._scores(
            qdrant.QueryRequest(
                limit=limit,
                query=qdrant.Query.Nearest(qdrant.SparseVector(*terms), using=WORDS),
                filter=selection,
                params=self._book_statistics(book_id),
                with_payload=False,
            )
        )

    def _book_statistics(self, book_id: str) -> qdrant.SearchParams | None:
        """Document frequencies from the stored chunks of one book.

        None uses the engine's own frequencies, which is faster: 1.3 ms at 40,000 chunks. They are those of a book that
        is alone in the shard, as long as no chunk was removed since the shard was opened.
        """
        if self._only_book == book_id and not self._has_stale_frequencies:
            return None
        return qdrant.SearchParams(idf=qdrant.IdfParams(corpus=_of_book(book_id)))

    def _scores(self, request: qdrant.QueryRequest) -> dict[int, float]:
        """Scores by reference. One query per call: the engine's batch call took 1.5 times as long here."""
        return {point.id: point.score for point in self._engine.query(request)}

    def _maximum_score(self, terms: Terms, book_id: str) -> float:
        idfs = (self._idf(book_id, term) for term in terms.indices)
        return lexical.maximum_score(idfs, self._chunk_count(book_id))

    def _is_unknown(self, book_id: str, word: str) -> bool:
        return any(self._idf(book_id, term) is None for term in self._terms.of_query(word).indices)

    def _count_chunks(self, book_id: str) -> int:
        return int(self._engine.count(qdrant.CountRequest(filter=_of_book(book_id), exact=True)))

    def _query_idf(self, book_id: str, term: int) -> float | None:
        """The engine's inverse document frequency of a term in a book, derived from the score of its best chunk; None
        for a term that occurs in no chunk."""
        request = qdrant.QueryRequest(
            limit=1,
            query=qdrant.Query.Nearest(qdrant.SparseVector([term], [1.0]), using=WORDS),
            filter=None if book_id == self._only_book else _of_book(book_id),
            params=self._book_statistics(book_id),
            with_payload=False,
            with_vector=[WORDS],
        )
        points = self._engine.query(request)
        if not points:
            return None
        weights = points[0].vector[WORDS]
        return lexical.term_idf(points[0].score, weights.values[weights.indices.index(term)])


def _of_book(book_id: str) -> qdrant.Filter:
    return to_filter([conditions.of_book(book_id)])


def _only(refs: list[int]) -> qdrant.Filter:
    return qdrant.Filter(must=[qdrant.HasIdCondition(set(refs))])
