"""Ingestion jobs and their outcomes in SQL."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Update, and_, case, delete, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import job_counters, job_from, outcome_from, outcome_rows, warnings_row
from bookwise.adapters.sql.tables import COUNTERS, job_outcomes, jobs
from bookwise.domain.errors import Conflict, InvalidInput, JobAlreadyRunning
from bookwise.domain.jobs import IngestionJob, IngestionMode, JobStatus, LessonOutcome, job_not_found

ACTIVE: tuple[JobStatus, ...] = ("queued", "running")
_MAX_ID = 2**31 - 1
_INTERRUPTED = "Interrupted: the process that ran this job has stopped. Start the ingestion again to continue."

_COUNTER_ADVICE = "Report a bug: the counters of this job are wrong."


def _now() -> datetime:
    return datetime.now(UTC)


class SqlJobs:
    """Jobs and their outcomes. A change names the status it starts from, so only one of two concurrent changes wins."""

    def __init__(self, database: Database, *, holder: str = "", clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._holder = holder
        self._clock = clock

    async def open(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        job = {"book_id": book_id, "mode": mode, "source": source, "holder": self._holder}
        statement = insert(jobs).values(**job, status="queued", queued_at=self._clock()).returning(jobs)
        try:
            return await self._database.write(lambda c: job_from(c.execute(statement).one()))
        except IntegrityError as error:
            raise await busy_error(self._database, book_id) from error

    async def start(self, job_id: int) -> IngestionJob:
        change = update(jobs).values(status="running", started_at=self._clock())
        return await self._database.write(_move, job_id, change, before=("queued",))

    async def progress(self, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
        _check_counters(job)
        await self._database.write(_progress, job, outcomes)

    async def finish(self, job: IngestionJob) -> IngestionJob:
        _check_counters(job)
        _check_totals(job)
        end = end_time(job.completed_at or self._clock())
        change = update(jobs).values(**job_counters(job), status="completed", completed_at=end)
        return await self._database.write(_move, job.job_id, change, before=("running",))

    async def fail(self, job_id: int, error_message: str) -> IngestionJob:
        change = self._failure(error_message)
        return await self._database.write(_move, job_id, change, before=ACTIVE)

    async def job(self, job_id: int) -> IngestionJob:
        return await self._database.read(read_job, job_id)

    async def jobs(self, book_id: str | None = None, *, limit: int = 20) -> list[IngestionJob]:
        if limit < 1:
            raise InvalidInput(f"limit is {limit}; it must be 1 or more.", advice="Use a larger limit.")
        query = select(jobs).order_by(jobs.c.job_id.desc()).limit(min(limit, _MAX_ID))
        if book_id is not None:
            query = query.where(jobs.c.book_id == book_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [job_from(row) for row in rows]

    async def outcomes(self, job_id: int) -> list[LessonOutcome]:
        return await self._database.read(_read_outcomes, job_id)

    async def requeue(self, job_id: int) -> IngestionJob:
        return await self._database.write(_requeue, job_id)

    async def orphaned_jobs(self) -> list[IngestionJob]:
        query = select(jobs).where(self._is_orphaned()).order_by(jobs.c.job_id)
        return await self._database.read(lambda connection: list(map(job_from, connection.execute(query))))

    def _is_orphaned(self) -> ColumnElement[bool]:
        return and_(jobs.c.status.in_(ACTIVE), jobs.c.holder == self._holder)

    async def interrupt_running(self) -> int:
        is_orphaned = self._is_orphaned()
        query = select(jobs.c.job_id).where(is_orphaned).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case: avoids a write at every start
        change = self._failure(_INTERRUPTED).where(is_orphaned)
        return await self._database.write(lambda connection: connection.execute(change).rowcount)

    async def forget(self, *, before: datetime) -> int:
        newest = select(func.max(jobs.c.job_id)).group_by(jobs.c.book_id)
        is_old = and_(jobs.c.completed_at < before, jobs.c.job_id.not_in(newest))
        query = select(jobs.c.job_id).where(is_old).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case: blocks no writer
        return await self._database.write(lambda connection: connection.execute(delete(jobs).where(is_old)).rowcount)

    def _failure(self, error_message: str) -> Update:
        end = end_time(self._clock())
        return update(jobs).values(status="failed", error_message=error_message, completed_at=end)


async def busy_error(database: Database, book_id: str) -> JobAlreadyRunning:
    """The error for a book with an open job, which it names."""
    query = select(jobs.c.job_id).where(jobs.c.book_id == book_id, jobs.c.status.in_(ACTIVE))
    other = await database.read(lambda connection: connection.execute(query).scalar())
    name = "another job" if other is None else f"job {other}"
    return JobAlreadyRunning(
        f"The book {book_id!r} is already being ingested by {name}.",
        advice="Wait until that job has finished, then try again.",
    )


def _move(connection: Connection, job_id: int, change: Update, *, before: tuple[JobStatus, ...]) -> IngestionJob:
    _check_id(job_id)
    statement = change.where(jobs.c.job_id == job_id, jobs.c.status.in_(before)).returning(jobs)
    row = connection.execute(statement).first()
    if row is None:
        job = read_job(connection, job_id)
        raise Conflict(
            f"Job {job_id} is {job.status}. This change requires a job that is {' or '.join(before)}.",
            advice="Read the job again: another process has changed its status.",
        )
    return job_from(row)


def _requeue(connection: Connection, job_id: int) -> IngestionJob:
    change = update(jobs).values(dict.fromkeys(COUNTERS, 0))
    change = change.values(status="queued", started_at=None, warnings=[], attempt=jobs.c.attempt + 1)
    job = _move(connection, job_id, change, before=("running",))
    connection.execute(delete(job_outcomes).where(job_outcomes.c.job_id == job_id))
    return job


def _progress(connection: Connection, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
    values = {**job_counters(job), "warnings": warnings_row(job.warnings)}
    _move(connection, job.job_id, update(jobs).values(values), before=("running",))
    if rows := outcome_rows(job.job_id, outcomes):
        connection.execute(insert(job_outcomes), rows)


def read_job(connection: Connection, job_id: int) -> IngestionJob:
    _check_id(job_id)
    row = connection.execute(select(jobs).where(jobs.c.job_id == job_id)).first()
    if row is None:
        raise job_not_found(job_id)
    return job_from(row)


def _read_outcomes(connection: Connection, job_id: int) -> list[LessonOutcome]:
    read_job(connection, job_id)
    query = select(job_outcomes).where(job_outcomes.c.job_id == job_id).order_by(job_outcomes.c.outcome_id)
    return [outcome_from(row) for row in connection.execute(query)]


def end_time(at: datetime) -> ColumnElement[Any]:
    """The end of a job, never before its start, even if the wall clock was set back in between."""
    end = literal(at, jobs.c.completed_at.type)
    return case((jobs.c.started_at > end, jobs.c.started_at), else_=end)


def _check_counters(job: IngestionJob) -> None:
    for name, count in job_counters(job).items():
        if count < 0:
            raise InvalidInput(f"{name} of job {job.job_id} is {count}; it must be 0 or more.", advice=_COUNTER_ADVICE)


def _check_totals(job: IngestionJob) -> None:
    if job.files_processed + job.files_skipped != job.total_files:
        raise InvalidInput(
            f"Job {job.job_id} cannot be completed: {job.files_processed} files processed and "
            f"{job.files_skipped} skipped do not add up to {job.total_files} files.",
            advice=_COUNTER_ADVICE,
        )
    if job.files_failed > job.files_skipped:
        raise InvalidInput(
            f"Job {job.job_id} cannot be completed: {job.files_failed} files failed, but only "
            f"{job.files_skipped} were skipped.",
            advice=_COUNTER_ADVICE,
        )


def _check_id(job_id: int) -> None:
    if not 0 < job_id <= _MAX_ID:
        raise job_not_found(job_id)
