"""Lessons, jobs, outcomes, threads and messages ↔ table rows."""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeAlias
from zlib import crc32

from sqlalchemy import Row

from bookwise.adapters.sql.book_rows import book_from, book_row
from bookwise.adapters.sql.column_types import UnreadableValue, escape_text
from bookwise.adapters.sql.tables import COUNTERS
from bookwise.domain.books import Audience, LessonFile, LessonPosition
from bookwise.domain.errors import InvalidInput
from bookwise.domain.jobs import IngestionJob, JobPlan, LessonOutcome, LessonRecord, PlannedLesson, stored_warnings
from bookwise.domain.threads import LIVE_MESSAGES_MAX, Thread, ThreadMessage

StoredMessage: TypeAlias = dict[str, Any]

_CHECKSUM = "checksum"  # of a message; earlier releases stored none
_LARGE = 1e16  # from here on, Python writes a number with an exponent
_MAX_DEPTH = 50  # levels of JSON, far below the limit of any database or parser


def lesson_row(record: LessonRecord, *, index_id: str) -> dict[str, Any]:
    return {
        "book_id": record.book_id,
        "source_file": record.source_file,
        "lesson_id": record.lesson_id,
        "revision": record.revision,
        "file_hash": record.file_hash,
        "module": record.position.module,
        "chapter": record.position.chapter,
        "lesson": record.position.lesson,
        "title": record.title,
        "url": record.url,
        "chunk_ids": record.chunk_ids,
        "chunk_count": record.chunk_count,
        "text_hashes": record.text_hashes or None,
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
        position=LessonPosition(module=row.module, chapter=row.chapter, lesson=row.lesson),
        title=row.title,
        url=row.url,
        chunk_ids=tuple(row.chunk_ids),
        ingested_at=row.ingested_at,
    )


def job_counters(job: IngestionJob) -> dict[str, int]:
    return {name: getattr(job, name) for name in COUNTERS}


def warnings_row(warnings: Sequence[str]) -> list[str]:
    return [escape_text(warning) for warning in stored_warnings(warnings)]


def job_from(row: Row[Any]) -> IngestionJob:
    columns = dict(row._mapping)
    for name in ("holder", "pull", "repeat"):  # used only inside the stores
        del columns[name]
    columns["warnings"] = tuple(columns["warnings"])
    return IngestionJob(**columns)


def planned_row(number: int, lesson: PlannedLesson) -> dict[str, Any]:
    return {"number": number, "file": asdict(lesson.file), "content": zlib.compress(lesson.content, 1)}


def planned_from(row: Row[Any]) -> PlannedLesson:
    file = dict(row.file)
    position, audience = LessonPosition(**file.pop("position")), Audience(**file.pop("audience"))
    breadcrumb = tuple(file.pop("breadcrumb"))
    return PlannedLesson(
        file=LessonFile(**file, position=position, audience=audience, breadcrumb=breadcrumb),
        content=zlib.decompress(row.content),
    )


def plan_row(plan: JobPlan) -> dict[str, Any]:
    return {"book": book_row(plan.book), "withdraw": plan.withdraw, "max_file_bytes": plan.max_file_bytes}


def plan_from(column: dict[str, Any]) -> JobPlan:
    return JobPlan(
        book=book_from(SimpleNamespace(**column["book"])),
        withdraw=tuple(column["withdraw"]),
        max_file_bytes=column["max_file_bytes"],
    )


def outcome_rows(job_id: int, outcomes: Iterable[LessonOutcome]) -> list[dict[str, Any]]:
    """The rows to store. Unchanged lessons are only counted: every ingest has nearly all of them again."""
    return [_outcome_row(job_id, outcome) for outcome in outcomes if outcome.status != "unchanged"]


def _outcome_row(job_id: int, outcome: LessonOutcome) -> dict[str, Any]:
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


def message_row(message: ThreadMessage) -> StoredMessage:
    """The message as JSON, without default values; `InvalidInput` if its time has no time zone."""
    if message.timestamp.tzinfo is None:
        raise InvalidInput(
            f"The time {message.timestamp.isoformat()} of a message has no time zone.", advice="Add a time zone."
        )
    stored: StoredMessage = {
        "role": message.role,
        "content": escape_text(message.content),
        "timestamp": message.timestamp.astimezone(UTC).isoformat(timespec="microseconds"),  # so that it sorts
    }
    if message.confidence is not None:
        stored["confidence"] = plain_json("The confidence of a message", float(message.confidence))
    if not message.complete:
        stored["complete"] = False
    if message.details:
        stored["details"] = plain_json("The details of a message", dict(message.details))
    return stored | {_CHECKSUM: _checksum(stored)}


def message_from(stored: StoredMessage) -> ThreadMessage:
    try:
        if _CHECKSUM in stored and stored[_CHECKSUM] != _checksum(stored):
            raise UnreadableValue("a stored message")
        confidence = stored.get("confidence")
        return ThreadMessage(
            role=stored["role"],
            content=stored["content"],
            timestamp=datetime.fromisoformat(stored["timestamp"]),
            confidence=None if confidence is None else float(confidence),  # PostgreSQL may return an integer
            complete=stored.get("complete", True),
            details=stored.get("details", {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableValue("a stored message") from error


def thread_from(row: Row[Any], messages: Sequence[StoredMessage] = ()) -> Thread:
    is_archived = row.archived_at is not None
    return Thread(
        id=row.thread_id,
        book_id=row.book_id,
        owner=row.owner,
        messages=tuple(map(message_from, messages)),
        archived_messages=max(0, row.archived_count - LIVE_MESSAGES_MAX) if is_archived else row.archived_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
        topic_summary=row.topic_summary,
        metadata=row._mapping["metadata"] or {},
        archived=is_archived,
    )


def plain_json(name: str, value: Any) -> Any:
    """The value as plain JSON, with unstorable characters escaped; `InvalidInput` if it is not valid JSON.

    `name` begins the error message.
    """
    try:
        return _escape_all(json.loads(json.dumps(value, allow_nan=False), parse_float=_stable_number))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{name} cannot be written as JSON.", advice="Use plain values, lists and objects."
        ) from error


def _stable_number(literal: str) -> float | int:
    """The number as PostgreSQL returns it, so that its checksum is the same on every database: without a negative
    zero, and a large one without an exponent."""
    number = float(literal) or 0.0
    return int(number) if abs(number) >= _LARGE else number


def _checksum(stored: StoredMessage) -> int:
    """CRC-32 of all other members."""
    members = {name: value for name, value in stored.items() if name != _CHECKSUM}
    return crc32(json.dumps(members, sort_keys=True).encode())


def _escape_all(value: Any, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, dict):
        return {escape_text(key): _escape_all(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_escape_all(item, depth + 1) for item in value]
    return value
