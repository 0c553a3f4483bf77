"""SearchQuery → SearchResult: live chunks only, no repeated text, scores on the calibrated scale."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from bookwise.domain.books import Book, Calibration, Chunk, Vector
from bookwise.domain.errors import IndexUnavailable
from bookwise.domain.search import Hit, Live, SearchQuery, SearchResult, Timings
from bookwise.ports import CatalogReader, Embedder, LessonIndex, Reranker
from bookwise.retrieval.fuse import CANDIDATES_MIN, Ranked, ranked
from bookwise.retrieval.rerank import RERANK_CANDIDATES, RERANK_SECONDS, rerank
from bookwise.text.fences import CODE_BLOCK
from bookwise.text.words import content_words

_CODE = re.compile(rf"{CODE_BLOCK}|`[^`\n]*`", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKit:
    """The ports of a search."""

    embedder: Embedder
    index: LessonIndex
    catalog: CatalogReader
    reranker: Reranker | None = None
    rerank_seconds: float = RERANK_SECONDS  #: then the search keeps its own order

    def calibration_of(self, book: Book) -> Calibration:
        """The calibration fitted on the book, else the embedder's."""
        return book.calibration or self.embedder.facts.calibration


async def search(query: SearchQuery, kit: SearchKit) -> SearchResult:
    """The best live chunks of one book for a question.

    Raises `NotFound` for an unknown book, `EmbedderMismatch` when the book was indexed with another embedder, and
    `IndexUnavailable` when the book has no live lesson in this index.
    """
    started = perf_counter()
    book = await kit.catalog.book(query.filter.book_id)
    book.require_embedder(kit.embedder.facts)
    vector = await kit.embedder.embed_query(query.text)
    embedded = perf_counter()
    within = query.filter
    if within.module is not None:
        within = replace(within, module=book.module_named(within.module))
    limit = query.limit if kit.reranker is None else max(query.limit, RERANK_CANDIDATES)
    candidates, best = await _best_live(vector, replace(query, filter=within, limit=limit), kit)
    ended = perf_counter()
    best, notes = await rerank(query.text, best, kit.reranker, seconds=kit.rerank_seconds)
    reranked = perf_counter()
    calibration = kit.calibration_of(book)
    hits = tuple(
        Hit(
            chunk=chunk,
            score=calibration.similarity(match.relevance),
            cosine=match.candidate.cosine,
            lexical=match.candidate.lexical,
            strength=match.strength,
        )
        for match, chunk in best[: query.limit]
    )
    timings = Timings(
        embed_ms=(embedded - started) * 1e3,
        index_ms=(ended - embedded) * 1e3,
        total_ms=(perf_counter() - started) * 1e3,
        rerank_ms=(reranked - ended) * 1e3 if kit.reranker is not None else 0.0,
    )
    return SearchResult(query=query, hits=hits, candidates=candidates, timings=timings, vector=vector, notes=notes)


async def _best_live(vector: Vector, query: SearchQuery, kit: SearchKit) -> tuple[int, list[tuple[Ranked, Chunk]]]:
    """The number of candidates, and the best of them that are live."""
    pool = max(CANDIDATES_MIN, query.limit)
    terms = len(content_words(_CODE.sub(" ", query.text)))
    while True:
        live = await kit.catalog.live(query.filter.book_id)
        if not live.revisions:
            raise _no_live_lesson(query.filter.book_id)
        candidates = await kit.index.nearest(vector, query.text, within=query.filter, limit=pool)
        best, hidden = await _first_live(ranked(candidates, terms), live, query, kit.index)
        if len(best) == query.limit or not hidden:
            return len(candidates), best
        if live != await kit.catalog.live(query.filter.book_id):
            continue  # a lesson was published during this search, and its old chunks may be gone: search again
        if len(candidates) < pool:
            return len(candidates), best
        pool *= 2  # chunks of old revisions took places


def _no_live_lesson(book_id: str) -> IndexUnavailable:
    """An empty result would be misleading: without a live lesson, the index was lost or never filled."""
    return IndexUnavailable(
        f"Book {book_id!r} has no lessons in this index: the index was lost, or the ingest never finished.",
        advice="Run `bookwise ingest PATH` on the book again; cached vectors make it fast.",
    )


async def _first_live(
    candidates: Sequence[Ranked], live: Live, query: SearchQuery, index: LessonIndex
) -> tuple[list[tuple[Ranked, Chunk]], bool]:
    """The first candidates that are live and do not repeat a text, and whether any was not live."""
    best: list[tuple[Ranked, Chunk]] = []
    seen: set[str] = set()
    hidden = False
    async for match, chunk in _read(candidates, query, index):
        if chunk is None or chunk.revision not in live.revisions:
            hidden = True
        elif chunk.content_hash not in seen:
            seen.add(chunk.content_hash)
            best.append((match, chunk))
            if len(best) == query.limit:
                break
    return best, hidden


async def _read(
    candidates: Sequence[Ranked], query: SearchQuery, index: LessonIndex
) -> AsyncIterator[tuple[Ranked, Chunk | None]]:
    for start in range(0, len(candidates), query.limit):
        page = candidates[start : start + query.limit]
        chunks = await index.read(query.filter.book_id, [match.candidate.ref for match in page])
        for match, chunk in zip(page, chunks, strict=True):
            yield match, chunk
