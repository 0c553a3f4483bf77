"""Public JSON objects for chunks, lessons and ingestion jobs."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from bookwise.domain.books import Chunk
from bookwise.domain.jobs import IngestionJob, IngestionMode, JobStatus, LessonOutcome, LessonRecord
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_LESSON_ID, EXAMPLE_TIME, Shape, examples

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
TeachingLayer = Literal["L1", "L2", "L3", "L4"]
HardwareTier = Literal[1, 2, 3, 4]

EXAMPLE_TEXT = "A node is a process that performs computation. Nodes communicate over topics."
EXAMPLE_URL = "https://book.example/ros2/nodes#what-a-node-is"
EXAMPLE_FILE = "ros2/01-nodes.md"
EXAMPLE_CHUNK_ID = "5b0b4b0e-93e1-5a2c-8f0e-3c1d2b7a9e10"
EXAMPLE_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bb2ca0f0f3e0b6b2a1c3d"

#: What a chunk and a search result have in common.
PLACE_EXAMPLE: dict[str, Any] = {
    "module": "ros2",
    "chapter": 1,
    "lesson": 1,
    "section_title": "What a node is",
    "hardware_tier": 1,
    "proficiency_level": "A2",
    "layer": "L1",
    "source_file": EXAMPLE_FILE,
    "parent_doc_id": EXAMPLE_LESSON_ID,
    "chunk_index": 0,
    "total_chunks": 1,
    "prev_chunk_id": None,
    "next_chunk_id": None,
    "content_hash": EXAMPLE_HASH,
    "page_title": "Nodes",
    "url": EXAMPLE_URL,
    "anchor": "what-a-node-is",
    "breadcrumb": ["ROS 2", "Nodes"],
}
CHUNK_EXAMPLE: dict[str, Any] = {
    "id": EXAMPLE_CHUNK_ID,
    "text": EXAMPLE_TEXT,
    "metadata": {
        **PLACE_EXAMPLE,
        "book_id": EXAMPLE_BOOK_ID,
        "source_file_hash": EXAMPLE_HASH,
        "version": 1,
        "created_at": EXAMPLE_TIME,
        "updated_at": EXAMPLE_TIME,
    },
    "word_count": 12,
    "token_count": 14,
    "char_count": 77,
}
JOB_EXAMPLE: dict[str, Any] = {
    "job_id": 7,
    "book_id": EXAMPLE_BOOK_ID,
    "mode": "incremental",
    "status": "completed",
    "total_files": 29,
    "files_processed": 1,
    "files_skipped": 28,
    "files_failed": 0,
    "files_withdrawn": 0,
    "chunks_created": 12,
    "chunks_deleted": 11,
    "started_at": EXAMPLE_TIME,
    "completed_at": "2026-03-29T12:00:02Z",
    "duration_seconds": 2,
    "error_message": None,
    "warnings": ["nav2.md: 1 include was left out. It is nav2.py: there is no such file in the book's folder."],
}
OUTCOME_EXAMPLE: dict[str, Any] = {
    "source_file": EXAMPLE_FILE,
    "status": "published",
    "chunks_created": 12,
    "chunks_deleted": 11,
}


class DocumentMetadata(Shape):
    """Where a chunk is, whom it is for, and which chunks are before and after it."""

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
            raise ValueError("only the first chunk has no prev_chunk_id")
        if (self.chunk_index == self.total_chunks - 1) != (self.next_chunk_id is None):
            raise ValueError("only the last chunk has no next_chunk_id")
        return self


class DocumentChunk(Shape):
    """A stored piece of a lesson."""

    model_config = examples(CHUNK_EXAMPLE)

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


class IngestionRecord(Shape):
    """A lesson that readers can see."""

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
            module=record.position.module,
            chapter=record.position.chapter,
            lesson=record.position.lesson,
            parent_doc_id=record.lesson_id,
            title=record.title,
            url=record.url,
        )


class IngestionState(Shape):
    """The indexed lessons of a book."""

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


class IngestionJobReport(Shape):
    """One ingestion job."""

    model_config = examples(JOB_EXAMPLE)

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
    warnings: tuple[str, ...] = Field(
        default=(), description="About the source, such as an included file that is missing."
    )
    attempt: int = Field(default=1, ge=1, description="Number of tries; a stopped service adds one.")

    @model_validator(mode="after")
    def _state_fits(self) -> Self:
        ended = self.status in ("completed", "failed")
        if ended != (self.completed_at is not None):
            raise ValueError("completed_at must be set exactly when the job has ended")
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
            warnings=job.warnings,
            attempt=job.attempt,
        )


class LessonReport(Shape):
    """What a job did with one lesson."""

    model_config = examples(OUTCOME_EXAMPLE)

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
