"""Turns ingestion runs into durable jobs whose status only moves forward."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Update, and_, case, delete, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import job_counters, job_from, outcome_from, outcome_row
from bookwise.adapters.sql.tables import COUNTERS, job_outcomes, jobs
from bookwise.domain.errors import Conflict, InvalidInput, JobAlreadyRunning, NotFound
from bookwise.domain.jobs import IngestionJob, IngestionMode, JobStatus, LessonOutcome

_ACTIVE: tuple[JobStatus, ...] = ("queued", "running")
_LARGEST_ID = 2**31 - 1
_INTERRUPTED = "Interrupted: the process that ran this job is gone. Start the ingestion again to continue."


def _now() -> datetime:
    return datetime.now(UTC)


class SqlJobs:
    """Jobs and their outcomes. A change of status names the one it starts from, so only one of two wins."""

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
            raise await self._already_running(book_id) from error

    async def start(self, job_id: int) -> IngestionJob:
        running = update(jobs).values(status="running", started_at=self._clock())
        return await self._database.write(_move, job_id, running, before=("queued",))

    async def progress(self, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
        _refuse_negative(job)
        await self._database.write(_progress, job, outcomes)

    async def finish(self, job: IngestionJob) -> IngestionJob:
        _refuse_negative(job)
        _refuse_uneven(job)
        ended = _ended(job.completed_at or self._clock())
        completed = update(jobs).values(**job_counters(job), status="completed", completed_at=ended)
        return await self._database.write(_move, job.job_id, completed, before=("running",))

    async def fail(self, job_id: int, error_message: str) -> IngestionJob:
        failed = self._failed(error_message)
        return await self._database.write(_move, job_id, failed, before=_ACTIVE)

    async def job(self, job_id: int) -> IngestionJob:
        return await self._database.read(_job, job_id)

    async def jobs(self, book_id: str | None = None, *, limit: int = 20) -> list[IngestionJob]:
        if limit < 1:
            raise InvalidInput(f"limit is {limit}; it must be 1 or more.")
        query = select(jobs).order_by(jobs.c.job_id.desc()).limit(min(limit, _LARGEST_ID))
        if book_id is not None:
            query = query.where(jobs.c.book_id == book_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [job_from(row) for row in rows]

    async def outcomes(self, job_id: int) -> list[LessonOutcome]:
        return await self._database.read(_outcomes, job_id)

    async def requeue(self, job_id: int) -> IngestionJob:
        return await self._database.write(_requeue, job_id)

    async def orphaned_jobs(self) -> list[IngestionJob]:
        query = select(jobs).where(self._left()).order_by(jobs.c.job_id)
        return await self._database.read(lambda connection: list(map(job_from, connection.execute(query))))

    def _left(self) -> ColumnElement[bool]:
        return and_(jobs.c.status.in_(_ACTIVE), jobs.c.holder == self._holder)

    async def interrupt_running(self) -> int:
        left = self._left()
        query = select(jobs.c.job_id).where(left).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case, and it costs no write at every start
        failed = self._failed(_INTERRUPTED).where(left)
        return await self._database.write(lambda connection: connection.execute(failed).rowcount)

    def _failed(self, error_message: str) -> Update:
        ended = _ended(self._clock())
        return update(jobs).values(status="failed", error_message=error_message, completed_at=ended)

    async def _already_running(self, book_id: str) -> JobAlreadyRunning:
        query = select(jobs.c.job_id).where(jobs.c.book_id == book_id, jobs.c.status.in_(_ACTIVE))
        other = await self._database.read(lambda connection: connection.execute(query).scalar())
        name = "another job" if other is None else f"job {other}"
        return JobAlreadyRunning(
            f"The book {book_id!r} is already being ingested by {name}.",
            advice="Wait until it has ended, then try again.",
        )


def _move(connection: Connection, job_id: int, change: Update, *, before: tuple[JobStatus, ...]) -> IngestionJob:
    _refuse_impossible_id(job_id)
    allowed = change.where(jobs.c.job_id == job_id, jobs.c.status.in_(before)).returning(jobs)
    row = connection.execute(allowed).first()
    if row is None:
        job = _job(connection, job_id)
        raise Conflict(
            f"Job {job_id} is {job.status}; only a job that is {' or '.join(before)} can change so.",
            advice="Read the job again: another process has moved it.",
        )
    return job_from(row)


def _requeue(connection: Connection, job_id: int) -> IngestionJob:
    again = {name: 0 for name in COUNTERS} | {"status": "queued", "started_at": None, "attempt": jobs.c.attempt + 1}
    job = _move(connection, job_id, update(jobs).values(again), before=("running",))
    connection.execute(delete(job_outcomes).where(job_outcomes.c.job_id == job_id))
    return job


def _progress(connection: Connection, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
    _move(connection, job.job_id, update(jobs).values(**job_counters(job)), before=("running",))
    if outcomes:
        connection.execute(insert(job_outcomes), [outcome_row(job.job_id, outcome) for outcome in outcomes])


def _job(connection: Connection, job_id: int) -> IngestionJob:
    _refuse_impossible_id(job_id)
    row = connection.execute(select(jobs).where(jobs.c.job_id == job_id)).first()
    if row is None:
        raise _no_job(job_id)
    return job_from(row)


def _outcomes(connection: Connection, job_id: int) -> list[LessonOutcome]:
    _job(connection, job_id)
    query = select(job_outcomes).where(job_outcomes.c.job_id == job_id).order_by(job_outcomes.c.outcome_id)
    return [outcome_from(row) for row in connection.execute(query)]


def _ended(at: datetime) -> ColumnElement[Any]:
    """Never before the start, even when the wall clock was set back in between."""
    end = literal(at, jobs.c.completed_at.type)
    return case((jobs.c.started_at > end, jobs.c.started_at), else_=end)


def _refuse_negative(job: IngestionJob) -> None:
    for name, count in job_counters(job).items():
        if count < 0:
            raise InvalidInput(f"{name} of job {job.job_id} is {count}; it must be 0 or more.")


def _refuse_uneven(job: IngestionJob) -> None:
    if job.files_processed + job.files_skipped != job.total_files:
        raise InvalidInput(
            f"Job {job.job_id} cannot be completed: {job.files_processed} files processed and "
            f"{job.files_skipped} skipped are not the {job.total_files} found.",
        )
    if job.files_failed > job.files_skipped:
        raise InvalidInput(
            f"Job {job.job_id} cannot be completed: {job.files_failed} files failed, but only "
            f"{job.files_skipped} were skipped."
        )


def _refuse_impossible_id(job_id: int) -> None:
    if not 0 < job_id <= _LARGEST_ID:
        raise _no_job(job_id)


def _no_job(job_id: int) -> NotFound:
    return NotFound(f"There is no ingestion job {job_id}.", advice="List the jobs to see their numbers.")
