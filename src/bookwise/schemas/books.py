"""The public shapes of chunks, jobs and searches, under the names that callers know."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bookwise.domain.books import Chunk
from bookwise.domain.jobs import IngestionJob, IngestionMode, JobStatus, LessonOutcome, LessonRecord
from bookwise.domain.search import DEFAULT_BOOK_ID, Filter, Hit, SearchQuery, SearchResult

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
TeachingLayer = Literal["L1", "L2", "L3", "L4"]
HardwareTier = Literal[1, 2, 3, 4]

NUMBER_MAX = 2**53 - 1  #: the largest that every reader of JSON tells from its neighbours


class BookShape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DocumentMetadata(BookShape):
    """Where a chunk sits, for whom it is, and how it hangs together with its neighbours."""

    book_id: str
    module: str
    chapter: int = Field(ge=0)
    lesson: int = Field(ge=0)
    section_title: str | None = None
    hardware_tier: HardwareTier
    proficiency_level: ProficiencyLevel = "A2"
    layer: TeachingLayer = "L1"
    source_file: str
    parent_doc_id: str
    chunk_index: int = Field(ge=0)
    total_chunks: int = Field(ge=1)
    prev_chunk_id: str | None = None
    next_chunk_id: str | None = None
    content_hash: str
    source_file_hash: str
    version: int = Field(default=1, ge=1)
    created_at: datetime
    updated_at: datetime
    page_title: str = ""
    url: str = ""
    anchor: str = ""
    breadcrumb: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _chain_fits(self) -> Self:
        if self.chunk_index >= self.total_chunks:
            raise ValueError("chunk_index must be less than total_chunks")
        if (self.chunk_index == 0) != (self.prev_chunk_id is None):
            raise ValueError("exactly the first chunk has no prev_chunk_id")
        if (self.chunk_index == self.total_chunks - 1) != (self.next_chunk_id is None):
            raise ValueError("exactly the last chunk has no next_chunk_id")
        return self


class DocumentChunk(BookShape):
    """A unit of text ready for retrieval."""

    id: str
    text: str = Field(min_length=10)
    metadata: DocumentMetadata
    word_count: int = Field(ge=1)
    token_count: int = Field(ge=1)
    char_count: int = Field(ge=1)

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        where, audience = chunk.locator, chunk.audience
        metadata = DocumentMetadata(
            book_id=where.book_id,
            module=where.module,
            chapter=where.chapter,
            lesson=where.lesson,
            section_title=where.section_title,
            hardware_tier=audience.hardware_tier,  # type: ignore[arg-type]
            proficiency_level=audience.proficiency_level,  # type: ignore[arg-type]
            layer=audience.layer,  # type: ignore[arg-type]
            source_file=where.source_file,
            parent_doc_id=chunk.lesson_id,
            chunk_index=chunk.index,
            total_chunks=chunk.total,
            prev_chunk_id=chunk.prev_id,
            next_chunk_id=chunk.next_id,
            content_hash=chunk.content_hash,
            source_file_hash=chunk.file_hash,
            version=chunk.version,
            created_at=chunk.created_at,
            updated_at=chunk.updated_at,
            page_title=where.page_title,
            url=where.url,
            anchor=where.anchor,
            breadcrumb=where.breadcrumb,
        )
        return cls(
            id=chunk.id,
            text=chunk.text,
            metadata=metadata,
            word_count=chunk.word_count,
            token_count=chunk.token_count,
            char_count=chunk.char_count,
        )


class IngestionRecord(BookShape):
    """A live lesson."""

    source_file: str
    file_hash: str
    chunk_ids: tuple[str, ...]
    chunk_count: int
    ingested_at: datetime
    book_id: str
    module: str
    chapter: int
    lesson: int
    parent_doc_id: str
    title: str = ""
    url: str = ""

    @classmethod
    def of(cls, record: LessonRecord) -> Self:
        return cls(
            source_file=record.source_file,
            file_hash=record.file_hash,
            chunk_ids=record.chunk_ids,
            chunk_count=record.chunk_count,
            ingested_at=record.ingested_at,
            book_id=record.book_id,
            module=record.place.module,
            chapter=record.place.chapter,
            lesson=record.place.lesson,
            parent_doc_id=record.lesson_id,
            title=record.title,
            url=record.url,
        )


class IngestionState(BookShape):
    """What is indexed of a book."""

    book_id: str
    collection_name: str
    records: dict[str, IngestionRecord]
    last_full_ingest: datetime | None = None
    last_incremental_update: datetime | None = None
    total_chunks: int = Field(ge=0)

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        if self.total_chunks != sum(record.chunk_count for record in self.records.values()):
            raise ValueError("total_chunks must be the sum of the records' chunk counts")
        return self


class IngestionJobReport(BookShape):
    """One ingestion run."""

    job_id: int
    book_id: str
    mode: IngestionMode
    status: JobStatus
    total_files: int = Field(ge=0)
    files_processed: int = Field(ge=0)
    files_skipped: int = Field(ge=0)
    files_failed: int = Field(ge=0)
    files_withdrawn: int = Field(ge=0)
    chunks_created: int = Field(ge=0)
    chunks_deleted: int = Field(ge=0)
    started_at: datetime | None = None
    completed_at: datetime | None = None
    duration_seconds: int | None = None
    error_message: str | None = None
    attempt: int = Field(default=1, ge=1, description="One more after each try that a stopped service broke off.")

    @model_validator(mode="after")
    def _state_fits(self) -> Self:
        ended = self.status in ("completed", "failed")
        if ended != (self.completed_at is not None):
            raise ValueError("exactly a job that ended has completed_at")
        if self.status == "completed" and self.files_processed + self.files_skipped != self.total_files:
            raise ValueError("files_processed + files_skipped must be total_files")
        return self

    @classmethod
    def of(cls, job: IngestionJob) -> Self:
        return cls(
            job_id=job.job_id,
            book_id=job.book_id,
            mode=job.mode,
            status=job.status,
            total_files=job.total_files,
            files_processed=job.files_processed,
            files_skipped=job.files_skipped,
            files_failed=job.files_failed,
            files_withdrawn=job.files_withdrawn,
            chunks_created=job.chunks_created,
            chunks_deleted=job.chunks_deleted,
            started_at=job.started_at,
            completed_at=job.completed_at,
            duration_seconds=job.duration_seconds,
            error_message=job.error_message,
            attempt=job.attempt,
        )


class LessonReport(BookShape):
    """What a run did with one lesson."""

    source_file: str
    status: str
    chunks_created: int = 0
    chunks_deleted: int = 0
    reason: str = ""
    message: str = ""

    @classmethod
    def of(cls, outcome: LessonOutcome) -> Self:
        return cls(
            source_file=outcome.source_file,
            status=outcome.status,
            chunks_created=outcome.chunks_created,
            chunks_deleted=outcome.chunks_deleted,
            reason=outcome.reason,
            message=outcome.message,
        )


class SearchRequest(BookShape):
    """A search request with all filters; every filter must match."""

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


class SearchResultItem(BookShape):
    """One hit, with its scores and its place."""

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


class SearchTimings(BookShape):
    """Milliseconds."""

    embed_ms: float
    index_ms: float
    total_ms: float


class SearchResponse(BookShape):
    """The hits of a search, best first."""

    query: str
    results: tuple[SearchResultItem, ...]
    total_found: int = Field(ge=0, description="Number of results; at most `limit`.")
    hardware_tier_filter: int
    module_filter: str | None = None
    book_id: str
    timings: SearchTimings

    @model_validator(mode="after")
    def _best_first(self) -> Self:
        scores = [result.score for result in self.results]
        if scores != sorted(scores, reverse=True):
            raise ValueError("results must be ordered by score")
        if self.total_found != len(self.results):
            raise ValueError("total_found must be the number of results")
        return self

    @classmethod
    def of(cls, found: SearchResult) -> Self:
        timings = found.timings
        return cls(
            query=found.query.text,
            results=tuple(SearchResultItem.of(hit) for hit in found.hits),
            total_found=len(found.hits),
            hardware_tier_filter=found.query.filter.hardware_tier,
            module_filter=found.query.filter.module,
            book_id=found.query.filter.book_id,
            timings=SearchTimings(embed_ms=timings.embed_ms, index_ms=timings.index_ms, total_ms=timings.total_ms),
        )
