"""Ingestion jobs: plan, progress and outcomes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.books import Book, LessonFile, LessonPosition
from bookwise.domain.errors import NotFound

IngestionMode: TypeAlias = Literal["incremental", "full", "recreate"]
JobStatus: TypeAlias = Literal["queued", "running", "completed", "failed"]
OutcomeStatus: TypeAlias = Literal["published", "unchanged", "withdrawn", "failed"]
StepKind: TypeAlias = Literal["plan", "lessons", "finish"]

MODES: tuple[IngestionMode, ...] = ("incremental", "full", "recreate")
WARNINGS_MAX = 100  #: warnings that a job stores
TRIES_MAX = 3  #: a job or a lesson that stops its process this many times is not tried again
CANCELLED = "cancelled"  #: error message of a job that was cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file that was left out by a rule."""

    source_file: str
    rule: str  #: stable slug: `i18n-mirror`, `identical-copy`, `not-a-lesson`, …
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """A lesson that cannot be read. The job continues without it."""

    source_file: str
    reason: str  #: stable slug: `encoding`, `front-matter`, `too-large`, …
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonRecord:
    """A live lesson in the catalog (`IngestionRecord` in the API)."""

    book_id: str
    source_file: str
    lesson_id: str
    revision: str
    file_hash: str
    position: LessonPosition
    title: str
    url: str
    chunk_ids: tuple[str, ...]
    ingested_at: datetime
    #: Keys of its vectors in the cache. The catalog stores them and does not return them.
    text_hashes: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The difference between a source and the live lessons."""

    new: tuple[LessonFile, ...] = ()
    modified: tuple[LessonFile, ...] = ()
    unchanged: tuple[LessonFile, ...] = ()
    deleted: tuple[str, ...] = ()  #: source files


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionPlan:
    """What a job will do."""

    publish: tuple[LessonFile, ...]
    skip: tuple[LessonFile, ...]
    withdraw: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonOutcome:
    """What a job did with one lesson."""

    source_file: str
    status: OutcomeStatus
    chunks_created: int = 0
    chunks_deleted: int = 0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionJob:
    """One run that brings the index in line with a source."""

    job_id: int
    book_id: str
    mode: IngestionMode
    status: JobStatus
    source: str = ""
    total_files: int = 0
    files_processed: int = 0
    files_skipped: int = 0  #: unchanged, or failed
    files_failed: int = 0  #: the failed ones among the skipped
    files_withdrawn: int = 0
    chunks_created: int = 0
    chunks_deleted: int = 0
    queued_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error_message: str | None = None
    warnings: tuple[str, ...] = ()  #: what the source does not say clearly, such as an included file that is missing
    attempt: int = 1  #: grows by one each time the process stops during the job, or during one of its steps

    @property
    def duration_seconds(self) -> int | None:
        if self.started_at is None or self.completed_at is None:
            return None
        return round((self.completed_at - self.started_at).total_seconds())


def stored_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """The warnings that a job stores: the first ones, and how many more there are."""
    if len(warnings) <= WARNINGS_MAX:
        return tuple(warnings)
    first = warnings[: WARNINGS_MAX - 1]
    return (*first, f"… and {len(warnings) - len(first)} more.")


def count_outcomes(outcomes: Iterable[LessonOutcome]) -> dict[str, int]:
    """How much these outcomes add to the counters of their job."""
    counts = dict.fromkeys(
        ("files_processed", "files_skipped", "files_failed", "files_withdrawn", "chunks_created", "chunks_deleted"), 0
    )
    for outcome in outcomes:
        counts["files_processed"] += outcome.status == "published"
        counts["files_skipped"] += outcome.status in ("failed", "unchanged")
        counts["files_failed"] += outcome.status == "failed"
        counts["files_withdrawn"] += outcome.status == "withdrawn"
        counts["chunks_created"] += outcome.chunks_created
        counts["chunks_deleted"] += outcome.chunks_deleted
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """A part of a job that one worker runs: `plan` once, then any number of batches of `lessons`, then `finish`."""

    step_id: int
    kind: StepKind
    job: IngestionJob
    token: int  #: number of this claim; a change by a worker with an older number is refused
    pull: bool = False  #: update the source to the head of its branch first


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLesson:
    """A lesson to publish, with its bytes: a worker needs no access to the source."""

    file: LessonFile
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """What the workers of a job share, besides the lessons."""

    book: Book  #: as it will be after the job
    withdraw: tuple[str, ...]
    max_file_bytes: int


def job_not_found(job_id: int) -> NotFound:
    """The error for a job that does not exist, or that the caller may not see."""
    return NotFound(f"There is no ingestion job {job_id}.", advice="List the jobs to see their ids.")
