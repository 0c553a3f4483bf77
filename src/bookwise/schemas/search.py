"""Public JSON objects of a search: request and response."""

from typing import Any, Self

from pydantic import Field, model_validator

from bookwise.domain.search import DEFAULT_BOOK_ID, Filter, Hit, SearchQuery, SearchResult
from bookwise.schemas.books import (
    EXAMPLE_CHUNK_ID,
    EXAMPLE_TEXT,
    PLACE_EXAMPLE,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, Shape, examples

NUMBER_MAX = 2**53 - 1  #: the largest integer that every JSON parser reads exactly

RESULT_EXAMPLE: dict[str, Any] = {
    **PLACE_EXAMPLE,
    "chunk_id": EXAMPLE_CHUNK_ID,
    "text": EXAMPLE_TEXT,
    "score": 0.84,
    "cosine": 0.61,
    "lexical": 0.9,
}


class SearchRequest(Shape):
    """A search. Every filter must match; the proficiency levels are alternatives."""

    model_config = examples(
        {"text": "How do nodes communicate?"},
        {"text": "publish a message", "module_filter": "ros2", "hardware_tier_filter": 2, "limit": 3},
    )

    text: str = Field(min_length=3)
    book_id: str = DEFAULT_BOOK_ID
    hardware_tier_filter: HardwareTier = 1
    module_filter: str | None = None
    chapter_min: int | None = Field(default=None, ge=0, le=NUMBER_MAX, strict=True)
    chapter_max: int | None = Field(default=None, ge=0, le=NUMBER_MAX, strict=True)
    lesson_filter: int | None = Field(default=None, ge=0, le=NUMBER_MAX, strict=True)
    proficiency_levels: tuple[ProficiencyLevel, ...] | None = None
    layer_filter: TeachingLayer | None = None
    parent_doc_id: str | None = None
    limit: int = Field(default=5, ge=1, le=20, strict=True)

    def query(self) -> SearchQuery:
        return SearchQuery(
            text=self.text,
            limit=self.limit,
            filter=Filter(
                book_id=self.book_id,
                hardware_tier=self.hardware_tier_filter,
                module=self.module_filter,
                chapter_min=self.chapter_min,
                chapter_max=self.chapter_max,
                lesson=self.lesson_filter,
                proficiency_levels=self.proficiency_levels or (),
                layer=self.layer_filter,
                lesson_id=self.parent_doc_id,
            ),
        )


class SearchResultItem(Shape):
    """One result, with its scores and its place in the book."""

    chunk_id: str
    text: str
    score: float = Field(ge=0, le=1)
    cosine: float = Field(ge=-1.001, le=1.001)
    lexical: float = Field(ge=0, le=1)
    source_file: str
    section_title: str | None = None
    module: str
    chapter: int
    lesson: int
    hardware_tier: int
    proficiency_level: str
    layer: str
    chunk_index: int
    total_chunks: int
    parent_doc_id: str | None = None
    prev_chunk_id: str | None = None
    next_chunk_id: str | None = None
    content_hash: str | None = None
    page_title: str = ""
    url: str = ""
    anchor: str = ""
    breadcrumb: tuple[str, ...] = ()

    @classmethod
    def of(cls, hit: Hit) -> Self:
        chunk, where, audience = hit.chunk, hit.chunk.locator, hit.chunk.audience
        return cls(
            chunk_id=chunk.id,
            text=chunk.text,
            score=hit.score,
            cosine=hit.cosine,
            lexical=hit.lexical,
            source_file=where.source_file,
            section_title=where.section_title,
            module=where.module,
            chapter=where.chapter,
            lesson=where.lesson,
            hardware_tier=audience.hardware_tier,
            proficiency_level=audience.proficiency_level,
            layer=audience.layer,
            chunk_index=chunk.index,
            total_chunks=chunk.total,
            parent_doc_id=chunk.lesson_id,
            prev_chunk_id=chunk.prev_id,
            next_chunk_id=chunk.next_id,
            content_hash=chunk.content_hash,
            page_title=where.page_title,
            url=where.url,
            anchor=where.anchor,
            breadcrumb=where.breadcrumb,
        )


class SearchTimings(Shape):
    """Time spent on a search, in milliseconds."""

    embed_ms: float
    index_ms: float
    total_ms: float
    rerank_ms: float = Field(default=0.0, description="0 without a reranker.")


class SearchResponse(Shape):
    """The results of a search, best first."""

    model_config = examples(
        {
            "query": "What is a node?",
            "results": [RESULT_EXAMPLE],
            "total_found": 1,
            "hardware_tier_filter": 1,
            "module_filter": None,
            "book_id": EXAMPLE_BOOK_ID,
            "timings": {"embed_ms": 6.1, "index_ms": 2.3, "total_ms": 8.6},
        }
    )

    query: str
    results: tuple[SearchResultItem, ...]
    total_found: int = Field(ge=0, description="Number of results; at most `limit`.")
    hardware_tier_filter: int
    module_filter: str | None = None
    book_id: str
    timings: SearchTimings
    notes: tuple[str, ...] = Field(default=(), description="What did not work as configured, such as the reranker.")

    @model_validator(mode="after")
    def _best_first(self) -> Self:
        scores = [result.score for result in self.results]
        if scores != sorted(scores, reverse=True):
            raise ValueError("results must be ordered by score")
        if self.total_found != len(self.results):
            raise ValueError("total_found must be the number of results")
        return self

    @classmethod
    def of(cls, result: SearchResult) -> Self:
        timings, within = result.timings, result.query.filter
        return cls(
            query=result.query.text,
            results=tuple(SearchResultItem.of(hit) for hit in result.hits),
            total_found=len(result.hits),
            hardware_tier_filter=within.hardware_tier,
            module_filter=within.module,
            book_id=within.book_id,
            timings=SearchTimings(
                embed_ms=timings.embed_ms,
                index_ms=timings.index_ms,
                total_ms=timings.total_ms,
                rerank_ms=timings.rerank_ms,
            ),
            notes=result.notes,
        )
