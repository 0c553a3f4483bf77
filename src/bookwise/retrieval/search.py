"""SearchQuery → SearchResult: both legs, fused, live, without repeats, on the calibrated scale."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from bookwise.domain.books import Book, Calibration, Chunk, Vector
from bookwise.domain.errors import IndexUnavailable
from bookwise.domain.search import Hit, Live, SearchQuery, SearchResult, Timings
from bookwise.ports import CatalogReader, Embedder, LessonIndex
from bookwise.retrieval.fuse import FusionOptions, Ranked, ranked

POOL = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKit:
    """What a search needs from outside."""

    embedder: Embedder
    index: LessonIndex
    catalog: CatalogReader
    fusion: FusionOptions = field(default_factory=FusionOptions)

    def calibration_of(self, book: Book) -> Calibration:
        """The book's own scale where one was fitted, the embedder's otherwise."""
        return book.calibration or self.embedder.facts.calibration


async def search(query: SearchQuery, kit: SearchKit) -> SearchResult:
    """The best live chunks of one book for a question."""
    started = perf_counter()
    book = await kit.catalog.book(query.filter.book_id)
    book.require_embedder(kit.embedder.facts)
    vector = await kit.embedder.embed_query(query.text)
    embedded = perf_counter()
    within = query.filter
    if within.module is not None:
        within = replace(within, module=book.module_named(within.module))
    found, chunks = await _best_live(vector, replace(query, filter=within), kit)
    ended = perf_counter()
    calibration = kit.calibration_of(book)
    hits = tuple(
        Hit(
            chunk=chunk,
            score=calibration.similarity(found_by.strength),
            cosine=found_by.candidate.cosine,
            lexical=found_by.candidate.lexical,
            strength=found_by.strength,
        )
        for found_by, chunk in chunks
    )
    timings = Timings(
        embed_ms=(embedded - started) * 1e3,
        index_ms=(ended - embedded) * 1e3,
        total_ms=(perf_counter() - started) * 1e3,
    )
    return SearchResult(query=query, hits=hits, total_found=found, timings=timings, vector=vector)


async def _best_live(vector: Vector, query: SearchQuery, kit: SearchKit) -> tuple[int, list[tuple[Ranked, Chunk]]]:
    """How many chunks either leg proposed, and the best of them that readers may see."""
    pool = max(POOL, query.limit)
    while True:
        live = await kit.catalog.live(query.filter.book_id)
        if not live.revisions:
            raise _nothing_here(query.filter.book_id)
        candidates = await kit.index.nearest(vector, query.text, within=query.filter, limit=pool)
        best, hidden = await _first_live(ranked(candidates, kit.fusion), live, query.limit, kit.index)
        if len(best) == query.limit or not hidden:
            return len(candidates), best
        if live != await kit.catalog.live(query.filter.book_id):
            continue  # a lesson was published while we searched: what was hidden may be swept, ask again
        if len(candidates) < pool:
            return len(candidates), best
        pool *= 2  # stale chunks of a running or broken job took places


def _nothing_here(book_id: str) -> IndexUnavailable:
    """A book without one live lesson is not a book without an answer: its index is lost, or was never filled."""
    return IndexUnavailable(
        f"Nothing of book {book_id!r} is in this index: it was lost, or the book was never fully ingested.",
        advice="Run `bookwise ingest PATH` on the book; vectors that are remembered make it quick.",
    )


async def _first_live(
    candidates: Sequence[Ranked], live: Live, limit: int, index: LessonIndex
) -> tuple[list[tuple[Ranked, Chunk]], bool]:
    """The first `limit` candidates that are live and say something new, and whether any was hidden."""
    best: list[tuple[Ranked, Chunk]] = []
    seen: set[str] = set()
    hidden = False
    async for candidate, chunk in _read(candidates, limit, index):
        if chunk is None or chunk.revision not in live.revisions:
            hidden = True
        elif chunk.content_hash not in seen:
            seen.add(chunk.content_hash)
            best.append((candidate, chunk))
            if len(best) == limit:
                break
    return best, hidden


async def _read(
    candidates: Sequence[Ranked], batch: int, index: LessonIndex
) -> AsyncIterator[tuple[Ranked, Chunk | None]]:
    for start in range(0, len(candidates), batch):
        wanted = candidates[start : start + batch]
        chunks = await index.read([found.candidate.ref for found in wanted])
        for candidate, chunk in zip(wanted, chunks, strict=True):
            yield candidate, chunk
