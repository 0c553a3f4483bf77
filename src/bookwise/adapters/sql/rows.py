"""Turns lessons, jobs and outcomes into table rows, and rows into them."""

from typing import Any

from sqlalchemy import Row

from bookwise.adapters.sql.tables import COUNTERS
from bookwise.domain.books import Place
from bookwise.domain.jobs import IngestionJob, LessonOutcome, LessonRecord


def lesson_row(record: LessonRecord, *, index_id: str) -> dict[str, Any]:
    return {
        "book_id": record.book_id,
        "source_file": record.source_file,
        "lesson_id": record.lesson_id,
        "revision": record.revision,
        "file_hash": record.file_hash,
        "module": record.place.module,
        "chapter": record.place.chapter,
        "lesson": record.place.lesson,
        "title": record.title,
        "url": record.url,
        "chunk_ids": record.chunk_ids,
        "chunk_count": record.chunk_count,
        "ingested_at": record.ingested_at,
        "index_id": index_id,
    }


def lesson_from(row: Row[Any]) -> LessonRecord:
    return LessonRecord(
        book_id=row.book_id,
        source_file=row.source_file,
        lesson_id=row.lesson_id,
        revision=row.revision,
        file_hash=row.file_hash,
        place=Place(module=row.module, chapter=row.chapter, lesson=row.lesson),
        title=row.title,
        url=row.url,
        chunk_ids=tuple(row.chunk_ids),
        ingested_at=row.ingested_at,
    )


def job_counters(job: IngestionJob) -> dict[str, int]:
    return {name: getattr(job, name) for name in COUNTERS}


def job_from(row: Row[Any]) -> IngestionJob:
    facts = dict(row._mapping)
    del facts["holder"]  # matters to the store alone
    return IngestionJob(**facts)


def outcome_row(job_id: int, outcome: LessonOutcome) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "source_file": outcome.source_file,
        "status": outcome.status,
        "chunks_created": outcome.chunks_created,
        "chunks_deleted": outcome.chunks_deleted,
        "reason": outcome.reason,
        "message": outcome.message,
    }


def outcome_from(row: Row[Any]) -> LessonOutcome:
    return LessonOutcome(
        source_file=row.source_file,
        status=row.status,
        chunks_created=row.chunks_created,
        chunks_deleted=row.chunks_deleted,
        reason=row.reason,
        message=row.message,
    )
