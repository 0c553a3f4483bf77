"""The calls of Qdrant's engine on the shard of one book: dense vectors and BM25 terms."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import qdrant_edge as qdrant

from bookwise.adapters.disk_space import require_space
from bookwise.adapters.qdrant import conditions, lexical
from bookwise.adapters.qdrant.candidates import to_candidates
from bookwise.adapters.qdrant.collections import BOOK_FILE
from bookwise.adapters.qdrant.conditions import Condition
from bookwise.adapters.qdrant.embedded_filter import to_filter
from bookwise.adapters.qdrant.pages import pages
from bookwise.adapters.qdrant.schema import DENSE, WORDS, by_revision, point_id, to_chunk, to_embedded, to_payload
from bookwise.adapters.qdrant.shard import Shard, remove_shard
from bookwise.adapters.qdrant.terms import TermEncoder, Terms
from bookwise.adapters.qdrant.verify import count_sound
from bookwise.domain.books import Chunk, EmbeddedChunk, Vector
from bookwise.domain.search import Candidate, Filter

#: Up to this many chunks every vector is compared exactly. Beyond it, 2-bit vectors preselect and exact ones decide
#: (docs/decisions/0003).
EXACT_UP_TO = 5_000
OVERSAMPLING = 8.0  #: recall@10 at 40,000 chunks is .992 with 4 and .999 with 8, in the same time (docs/benchmarks.md)
PAGE_SIZE = 1_000
NO_LIMIT = 10_000_000
REMEMBERED_TERMS = 20_000


class BookShard:
    """One book. Writes must not overlap; a read may run at any time.

    The conditions of a search leave out the book: checking it for every chunk takes as long as comparing its vector.
    """

    def __init__(self, shard: Shard, terms: TermEncoder) -> None:
        self.folder = shard.folder
        self._book_id = shard.book_id
        self._engine = shard.engine
        self._terms = terms
        self._has_stale_frequencies = False  #: chunks were removed, and the engine still counts them
        self._idf = lru_cache(maxsize=REMEMBERED_TERMS)(self._query_idf)
        self._total = self._engine.info().points_count

    def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        for page in pages(chunks):
            require_space(self.folder)
            points = [self._point(embedded) for embedded in page]
            self._engine.update(qdrant.UpdateOperation.upsert_points(points))
        self._commit()

    def remove(self, revisions: list[str]) -> int:
        require_space(self.folder)
        selection = to_filter(conditions.of_revisions(self._book_id, revisions))
        count = self._engine.count(qdrant.CountRequest(filter=selection, exact=True))
        self._engine.update(qdrant.UpdateOperation.delete_points_by_filter(selection))
        self._has_stale_frequencies |= bool(count)
        self._commit()
        return int(count)

    def nearest(self, vector: Vector, words: str, within: Filter, limit: int) -> list[Candidate]:
        wanted = conditions.of_search(within)[1:]
        selection = to_filter(wanted) if wanted else None
        terms = self._terms.of_query(words)
        dense = partial(self._dense_scores, list(vector))
        sparse = partial(self._lexical_scores, terms)
        cosines, scores = dense(selection, limit), sparse(selection, limit)
        without_score = [ref for ref in cosines if ref not in scores]
        without_cosine = [ref for ref in scores if ref not in cosines]
        cosines |= dense(_only(without_cosine), len(without_cosine), exact=True)
        scores |= sparse(_only(without_score), len(without_score))
        return to_candidates(cosines, scores, self._maximum_score(terms))

    def read(self, refs: Sequence[int]) -> list[Chunk | None]:
        payloads = {record.id: record.payload for record in self._engine.retrieve(list(refs), True, False)}
        return [to_chunk(payload) if (payload := payloads.get(ref)) else None for ref in refs]

    def chunks(self, wanted: list[Condition]) -> list[Chunk]:
        found = (to_chunk(record.payload) for record in read_records(self._engine, wanted))
        return [chunk for chunk in found if chunk is not None]

    def revisions(self) -> dict[str, int]:
        facets = self._engine.facet(qdrant.FacetRequest(key="revision", limit=NO_LIMIT, exact=True)).hits
        return {str(facet.value): facet.count for facet in facets if facet.count}

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        wanted = conditions.of_chunks(self._book_id, list(chunk_ids))
        records = read_records(self._engine, wanted, with_payload=["chunk_id"], with_vector=[DENSE])
        return {record.payload["chunk_id"]: tuple(record.vector[DENSE]) for record in records}

    def export(self, revisions: Sequence[str]) -> list[EmbeddedChunk]:
        wanted = conditions.of_revisions(self._book_id, list(revisions))
        records = read_records(self._engine, wanted, with_vector=[DENSE])
        exported = (to_embedded(record.payload, tuple(record.vector[DENSE])) for record in records)
        return sorted((chunk for chunk in exported if chunk is not None), key=by_revision)

    def verify(self) -> dict[str, int]:
        records = read_records(self._engine, [conditions.of_book(self._book_id)], with_vector=[DENSE, WORDS])
        return count_sound(records, self._terms)

    def unknown(self, words: Sequence[str]) -> frozenset[str]:
        return frozenset(word for word in words if self._is_unknown(word))

    def close(self) -> None:
        """Closes the files, and removes them if no chunk is left."""
        is_empty = self._has_stale_frequencies and not self._engine.count(qdrant.CountRequest(exact=True))
        self._engine.close()
        if is_empty:
            remove_shard(self.folder)

    def _point(self, embedded: EmbeddedChunk) -> qdrant.Point:
        chunk = embedded.chunk
        words = qdrant.SparseVector(*self._terms.of_chunk(chunk))
        vectors: dict[str, Any] = {DENSE: list(embedded.vector), WORDS: words}
        return qdrant.Point(point_id(chunk), vectors, to_payload(embedded))

    def _commit(self) -> None:
        self._engine.flush()
        (self.folder / BOOK_FILE).touch()
        self._idf.cache_clear()
        self._total = self._engine.info().points_count

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

    def _lexical_scores(self, terms: Terms, selection: qdrant.Filter | None, limit: int) -> dict[int, float]:
        if not limit or not terms.indices:
            return {}
        return self._scores(
            qdrant.QueryRequest(
                limit=limit,
                query=qdrant.Query.Nearest(qdrant.SparseVector(*terms), using=WORDS),
                filter=selection,
                params=self._word_statistics(),
                with_payload=False,
            )
        )

    def _word_statistics(self) -> qdrant.SearchParams | None:
        """Document frequencies from the stored chunks.

        None uses the engine's own frequencies, which is faster: 1.3 ms at 40,000 chunks. They are right as long as no
        chunk was removed since the shard was opened.
        """
        if not self._has_stale_frequencies:
            return None
        return qdrant.SearchParams(idf=qdrant.IdfParams(corpus=to_filter([conditions.of_book(self._book_id)])))

    def _scores(self, request: qdrant.QueryRequest) -> dict[int, float]:
        """Scores by reference. One query per call: the engine's batch call took 1.5 times as long here."""
        return {point.id: point.score for point in self._engine.query(request)}

    def _maximum_score(self, terms: Terms) -> float:
        return lexical.maximum_score((self._idf(term) for term in terms.indices), self._total)

    def _is_unknown(self, word: str) -> bool:
        return any(self._idf(term) is None for term in self._terms.of_query(word).indices)

    def _query_idf(self, term: int) -> float | None:
        """The engine's inverse document frequency of a term, derived from the score of its best chunk; None for a term
        that occurs in no chunk."""
        request = qdrant.QueryRequest(
            limit=1,
            query=qdrant.Query.Nearest(qdrant.SparseVector([term], [1.0]), using=WORDS),
            params=self._word_statistics(),
            with_payload=False,
            with_vector=[WORDS],
        )
        points = self._engine.query(request)
        if not points:
            return None
        weights = points[0].vector[WORDS]
        return lexical.term_idf(points[0].score, weights.values[weights.indices.index(term)])


def read_records(
    engine: Any,
    wanted: list[Condition],
    *,
    with_payload: bool | list[str] = True,
    with_vector: bool | list[str] = False,
) -> Iterator[Any]:
    """The stored points that meet the conditions, page by page."""
    offset = None
    while True:
        request = qdrant.ScrollRequest(
            offset=offset,
            limit=PAGE_SIZE,
            filter=to_filter(wanted),
            with_payload=with_payload,
            with_vector=with_vector,
        )
        records, offset = engine.scroll(request)
        yield from records
        if offset is None:
            return


def _only(refs: list[int]) -> qdrant.Filter:
    return qdrant.Filter(must=[qdrant.HasIdCondition(set(refs))])
