"""Turns books, lessons, jobs and outcomes into table rows, and rows into them."""

from typing import Any

from sqlalchemy import Row

from bookwise.adapters.sql.tables import COUNTERS
from bookwise.domain.books import Book, Calibration, Module, Place
from bookwise.domain.jobs import IngestionJob, LessonOutcome, LessonRecord


def book_row(book: Book) -> dict[str, Any]:
    return {
        "id": book.id,
        "title": book.title,
        "base_url": book.base_url,
        "language": book.language,
        "source": book.source,
        "modules": [{"name": module.name, "title": module.title, "aliases": module.aliases} for module in book.modules],
        "embedder": book.embedder,
        "embedder_name": book.embedder_name,
        "embedder_size": book.embedder_size,
        "calibration": None if book.calibration is None else {"knots": book.calibration.knots},
    }


def book_from(row: Row[Any]) -> Book:
    return Book(
        id=row.id,
        title=row.title,
        base_url=row.base_url,
        language=row.language,
        source=row.source,
        modules=tuple(
            Module(name=module["name"], title=module["title"], aliases=tuple(module["aliases"]))
            for module in row.modules
        ),
        embedder=row.embedder,
        embedder_name=row.embedder_name,
        embedder_size=row.embedder_size,
        calibration=None if row.calibration is None else _calibration(row.calibration),
    )


def _calibration(stored: dict[str, list[list[float]]]) -> Calibration:
    # PostgreSQL gives whole numbers back as integers
    return Calibration(knots=tuple((float(x), float(y)) for x, y in stored["knots"]))


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
