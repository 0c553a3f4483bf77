"""Steps of ingestion jobs in PostgreSQL: what is left to do, who does it, and whose commit counts.

A step is queued for the workers in the transaction that creates it. Every transaction locks the job's row before its
steps, so that two of them cannot block each other.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.catalog import activate_lessons, register_book, store_ingest_time, withdraw_lessons
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.jobs import ACTIVE, busy_error, end_time, read_job
from bookwise.adapters.sql.rows import (
    job_from,
    outcome_rows,
    plan_from,
    plan_row,
    planned_from,
    planned_row,
    warnings_row,
)
from bookwise.adapters.sql.step_messages import enqueue_steps
from bookwise.adapters.sql.tables import books, facts, job_lessons, job_outcomes, job_plans, job_steps, jobs, lessons
from bookwise.domain.books import Book
from bookwise.domain.errors import JobAlreadyRunning, StepLost
from bookwise.domain.jobs import (
    CANCELLED,
    TRIES_MAX,
    IngestionJob,
    IngestionMode,
    JobPlan,
    JobStatus,
    JobStep,
    LessonOutcome,
    LessonRecord,
    PlannedLesson,
    StepKind,
    count_outcomes,
)

POISON = f"poison: a worker stopped {TRIES_MAX} times during this step of the job. See the log of the workers."
POISON_LESSON = f"A worker stopped or timed out {TRIES_MAX} times while it read this lesson."
PAUSE_SECONDS = 300.0  #: longest time that a book stays closed to new jobs when its remover is killed

_LOCK_BOOK = text("SELECT pg_advisory_xact_lock(hashtext('bookwise jobs of ' || :book_id))")
_EPOCH = func.extract("epoch", func.clock_timestamp())


class SqlSteps:
    """The steps of the jobs of one index."""

    def __init__(
        self, database: Database, *, holder: str, on_register: Callable[[Book], Awaitable[None]] | None = None
    ) -> None:
        self._database = database
        self._holder = holder
        self._on_register = on_register

    async def open(self, book_id: str, mode: IngestionMode, source: str, *, pull: bool = False) -> IngestionJob:
        try:
            return await self._database.write(self._open, book_id, mode, source, pull)
        except IntegrityError as error:
            raise await busy_error(self._database, book_id) from error

    async def repeat(self, book_id: str) -> IngestionJob | None:
        change = update(jobs).where(jobs.c.book_id == book_id, jobs.c.status.in_(ACTIVE)).values(repeat=True)
        row = await self._database.write(lambda connection: connection.execute(change.returning(jobs)).first())
        return None if row is None else job_from(row)

    async def cancel(self, job_id: int) -> IngestionJob:
        return await self._database.write(self._cancel, job_id)

    @asynccontextmanager
    async def pause_opening(self, book_id: str) -> AsyncIterator[None]:
        await self._database.write(self._pause, book_id)
        try:
            yield
        finally:
            resume = delete(facts).where(facts.c.key == _pause_key(book_id))
            await self._database.write(lambda connection: connection.execute(resume))

    async def is_suspect(self, step_id: int) -> bool:
        query = select(job_steps.c.failures > 0).where(job_steps.c.step_id == step_id)
        return bool(await self._database.read(lambda connection: connection.execute(query).scalar()))

    async def claim(self, step_id: int, *, lease_seconds: float) -> JobStep | None:
        return await self._database.write(self._claim, step_id, lease_seconds)

    async def extend(self, step: JobStep, *, lease_seconds: float) -> None:
        change = update(job_steps).where(_is_claim(step)).values(claimed_until=_in_seconds(lease_seconds))
        if not await self._database.write(lambda connection: connection.execute(change).rowcount):
            raise _step_lost(step)

    async def check(self, step: JobStep) -> None:
        query = select(job_steps.c.step_id).where(_is_claim(step))
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            raise _step_lost(step)

    async def release(self, step: JobStep, *, failed: bool = False) -> None:
        await self._database.write(self._release, step, failed)

    async def plan(self, step: JobStep) -> JobPlan:
        query = select(job_plans.c.plan).where(job_plans.c.job_id == step.job.job_id)
        column = await self._database.read(lambda connection: connection.execute(query).scalar())
        if column is None:  # deleted with the job's other rows
            raise _step_lost(step)
        return plan_from(column)

    async def lessons(self, step: JobStep) -> list[PlannedLesson]:
        query = select(job_lessons).where(job_lessons.c.step_id == step.step_id).order_by(job_lessons.c.number)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [planned_from(row) for row in rows]

    async def add_batch(self, step: JobStep, number: int, batch: Sequence[PlannedLesson]) -> None:
        await self._database.write(self._add_batch, step, number, batch)

    async def store_plan(
        self,
        step: JobStep,
        plan: JobPlan,
        *,
        total_files: int,
        warnings: Sequence[str],
        outcomes: Sequence[LessonOutcome],
    ) -> None:
        await self._database.write(self._store_plan, step, plan, total_files, warnings, outcomes)

    async def commit(
        self, step: JobStep, book: Book, records: Sequence[LessonRecord], outcomes: Sequence[LessonOutcome]
    ) -> None:
        await self._database.write(self._commit, step, book, records, outcomes)

    async def close_book(self, step: JobStep, plan: JobPlan) -> list[LessonOutcome] | None:
        outcomes = await self._database.write(self._close_book, step, plan)
        if outcomes is not None and self._on_register:
            await self._on_register(plan.book)
        return outcomes

    async def finish(self, step: JobStep) -> IngestionJob:
        return await self._database.write(self._finish, step)

    async def fail(self, step: JobStep, error_message: str) -> IngestionJob:
        return await self._database.write(self._fail, step, error_message)

    async def enqueue_free(self) -> int:
        return await self._database.write(enqueue_steps, self._holder)

    def _open(self, connection: Connection, book_id: str, mode: IngestionMode, source: str, pull: bool) -> IngestionJob:
        connection.execute(_LOCK_BOOK, {"book_id": book_id})
        paused = select(facts.c.value).where(facts.c.key == _pause_key(book_id), facts.c.value > _EPOCH)
        if connection.execute(paused).first() is not None:
            raise JobAlreadyRunning(
                f"The book {book_id!r} is being removed.", advice="Wait until it is removed, then try again."
            )
        return self._insert_job(connection, book_id, mode, source, pull)

    def _insert_job(
        self, connection: Connection, book_id: str, mode: IngestionMode, source: str, pull: bool
    ) -> IngestionJob:
        values = {"book_id": book_id, "mode": mode, "source": source, "holder": self._holder, "pull": pull}
        statement = insert(jobs).values(**values, status="queued", queued_at=_now()).returning(jobs)
        job = job_from(connection.execute(statement).one())
        self._add_step(connection, job.job_id, "plan")
        enqueue_steps(connection, self._holder, job.job_id)
        return job

    def _pause(self, connection: Connection, book_id: str) -> None:
        connection.execute(_LOCK_BOOK, {"book_id": book_id})
        until = func.cast(_EPOCH + PAUSE_SECONDS, facts.c.value.type)
        statement = self._database.insert_into(facts).values(key=_pause_key(book_id), value=until)
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": until}))

    def _cancel(self, connection: Connection, job_id: int) -> IngestionJob:
        read_job(connection, job_id)
        return self._end(connection, job_id, "failed", CANCELLED) or read_job(connection, job_id)

    def _claim(self, connection: Connection, step_id: int, lease_seconds: float) -> JobStep | None:
        job = self._lock_job_of(connection, step_id)
        if job is None:
            return None
        is_free = or_(job_steps.c.claimed_until.is_(None), job_steps.c.claimed_until < func.clock_timestamp())
        query = select(job_steps).where(job_steps.c.step_id == step_id, is_free).with_for_update()
        row = connection.execute(query).first()
        if row is None:
            return None
        values = {
            "token": row.token + 1,
            "failures": row.failures + 1,  # taken back when the step ends well
            "claimed_until": _in_seconds(lease_seconds),
        }
        connection.execute(update(job_steps).where(job_steps.c.step_id == step_id).values(values))
        change = {"started_at": func.coalesce(jobs.c.started_at, _now()), "status": "running"}
        if row.claimed_until is not None:  # its worker has stopped
            change["attempt"] = jobs.c.attempt + 1
        started = connection.execute(
            update(jobs).where(jobs.c.job_id == job.job_id).values(change).returning(jobs)
        ).one()
        if row.failures and not self._may_retry(connection, row):
            return None
        return JobStep(step_id=step_id, kind=row.kind, job=job_from(started), token=row.token + 1, pull=started.pull)

    def _may_retry(self, connection: Connection, row: Row[Any]) -> bool:
        """Whether the step is run again as it is. If not, it is split into single lessons, or set aside."""
        if row.kind == "lessons" and self._count_lessons(connection, row.step_id) > 1:
            self._split(connection, row)
            return False
        if row.failures < TRIES_MAX:
            return True
        if row.kind == "lessons":
            [lesson] = connection.execute(select(job_lessons).where(job_lessons.c.step_id == row.step_id)).all()
            name = planned_from(lesson).file.source_file
            outcome = LessonOutcome(source_file=name, status="failed", reason="poison", message=POISON_LESSON)
            self._complete(connection, row.job_id, row.step_id, [outcome])
        else:
            self._end(connection, row.job_id, "failed", POISON)
        return False

    def _count_lessons(self, connection: Connection, step_id: int) -> int:
        query = select(func.count()).select_from(job_lessons).where(job_lessons.c.step_id == step_id)
        return connection.execute(query).scalar_one()

    def _split(self, connection: Connection, row: Row[Any]) -> None:
        numbers = connection.execute(select(job_lessons.c.number).where(job_lessons.c.step_id == row.step_id)).scalars()
        for number in numbers.all():
            step_id = self._add_step(connection, row.job_id, "lessons", number=row.number, failures=row.failures)
            one = (job_lessons.c.step_id == row.step_id) & (job_lessons.c.number == number)
            connection.execute(update(job_lessons).where(one).values(step_id=step_id))
        connection.execute(delete(job_steps).where(job_steps.c.step_id == row.step_id))
        enqueue_steps(connection, self._holder, row.job_id)

    def _release(self, connection: Connection, step: JobStep, failed: bool) -> None:
        self._fence(connection, step)
        failures = job_steps.c.failures - (0 if failed else 1)
        connection.execute(update(job_steps).where(_is_claim(step)).values(claimed_until=None, failures=failures))
        enqueue_steps(connection, self._holder, step.job.job_id)

    def _add_batch(self, connection: Connection, step: JobStep, number: int, batch: Sequence[PlannedLesson]) -> None:
        self._fence(connection, step)
        if number == 1:  # an earlier attempt may have stopped half-way
            others = (job_steps.c.job_id == step.job.job_id) & (job_steps.c.step_id != step.step_id)
            connection.execute(delete(job_steps).where(others))
        step_id = self._add_step(connection, step.job.job_id, "lessons", number=number)
        rows = [{"step_id": step_id, **planned_row(place, lesson)} for place, lesson in enumerate(batch)]
        connection.execute(insert(job_lessons), rows)

    def _store_plan(
        self,
        connection: Connection,
        step: JobStep,
        plan: JobPlan,
        total_files: int,
        warnings: Sequence[str],
        outcomes: Sequence[LessonOutcome],
    ) -> None:
        self._fence(connection, step)
        job_id = step.job.job_id
        connection.execute(insert(job_plans).values(job_id=job_id, plan=plan_row(plan)))
        facts = {"total_files": total_files, "warnings": warnings_row(warnings)}
        connection.execute(update(jobs).where(jobs.c.job_id == job_id).values(facts))
        self._complete(connection, job_id, step.step_id, outcomes)

    def _commit(
        self,
        connection: Connection,
        step: JobStep,
        book: Book,
        records: Sequence[LessonRecord],
        outcomes: Sequence[LessonOutcome],
    ) -> None:
        self._fence(connection, step)
        if records:
            if not _has_book(connection, book.id):
                register_book(connection, book, self._database.insert_into(books), self._holder)
            activate_lessons(connection, records, self._holder)
        self._complete(connection, step.job.job_id, step.step_id, outcomes)

    def _close_book(self, connection: Connection, step: JobStep, plan: JobPlan) -> list[LessonOutcome] | None:
        self._fence(connection, step)
        book = plan.book
        if not _has_book(connection, book.id):
            return None
        register_book(connection, book, self._database.insert_into(books), self._holder)
        is_withdrawn = lessons.c.source_file.in_(plan.withdraw)
        query = select(lessons.c.source_file, lessons.c.chunk_count).where(
            lessons.c.book_id == book.id, lessons.c.index_id == self._holder, is_withdrawn
        )
        outcomes = [
            LessonOutcome(source_file=row.source_file, status="withdrawn", chunks_deleted=row.chunk_count)
            for row in connection.execute(query)
        ]
        if outcomes:
            withdraw_lessons(connection, book.id, plan.withdraw, self._holder)
            self._count(connection, step.job.job_id, outcomes)
        return outcomes

    def _finish(self, connection: Connection, step: JobStep) -> IngestionJob:
        self._fence(connection, step)
        store_ingest_time(connection, step.job.book_id, step.job.mode, _now())
        job = self._end(connection, step.job.job_id, "completed")
        assert job is not None, "its row is locked"
        return job

    def _fail(self, connection: Connection, step: JobStep, error_message: str) -> IngestionJob:
        self._fence(connection, step)
        job = self._end(connection, step.job.job_id, "failed", error_message)
        assert job is not None, "its row is locked"
        return job

    def _lock_job_of(self, connection: Connection, step_id: int) -> Row[Any] | None:
        """The row of the open job, locked until the end of the transaction."""
        job_id = select(job_steps.c.job_id).where(job_steps.c.step_id == step_id).scalar_subquery()
        is_open = jobs.c.status.in_(ACTIVE) & (jobs.c.holder == self._holder)
        return connection.execute(select(jobs).where(jobs.c.job_id == job_id, is_open).with_for_update()).first()

    def _fence(self, connection: Connection, step: JobStep) -> None:
        """Locks job and step until the end of the transaction; raises `StepLost` if the claim is not the newest."""
        is_ours = self._lock_job_of(connection, step.step_id) is not None
        query = select(job_steps.c.step_id).where(_is_claim(step)).with_for_update()
        if not is_ours or connection.execute(query).first() is None:
            raise _step_lost(step)

    def _complete(self, connection: Connection, job_id: int, step_id: int, outcomes: Sequence[LessonOutcome]) -> None:
        """Counts the outcomes and removes the step. The last one makes room for the step `finish`."""
        self._count(connection, job_id, outcomes)
        connection.execute(delete(job_steps).where(job_steps.c.step_id == step_id))
        if connection.execute(select(job_steps.c.step_id).where(job_steps.c.job_id == job_id).limit(1)).first() is None:
            self._add_step(connection, job_id, "finish")
        enqueue_steps(connection, self._holder, job_id)

    def _count(self, connection: Connection, job_id: int, outcomes: Sequence[LessonOutcome]) -> None:
        if rows := outcome_rows(job_id, outcomes):
            connection.execute(insert(job_outcomes), rows)
        sums = {name: jobs.c[name] + count for name, count in count_outcomes(outcomes).items()}
        connection.execute(update(jobs).where(jobs.c.job_id == job_id).values(sums))

    def _end(
        self, connection: Connection, job_id: int, status: JobStatus, error_message: str | None = None
    ) -> IngestionJob | None:
        """Ends an open job; None if it is not open. A push that came during the job opens the next one."""
        values = {"status": status, "error_message": error_message, "completed_at": end_time(_now())}
        is_open = jobs.c.status.in_(ACTIVE) & (jobs.c.job_id == job_id)
        row = connection.execute(update(jobs).where(is_open).values(values).returning(jobs)).first()
        if row is None:
            return None
        for table in (job_steps, job_plans):
            connection.execute(delete(table).where(table.c.job_id == job_id))
        if row.repeat and error_message != CANCELLED:
            self._insert_job(connection, row.book_id, "incremental", row.source, True)
        return job_from(row)

    def _add_step(
        self, connection: Connection, job_id: int, kind: StepKind, *, number: int = 0, failures: int = 0
    ) -> int:
        values = {"job_id": job_id, "kind": kind, "number": number, "failures": failures}
        statement = insert(job_steps).values(values).returning(job_steps.c.step_id)
        step_id: int = connection.execute(statement).scalar_one()
        return step_id


def _now() -> datetime:
    return datetime.now(UTC)


def _is_claim(step: JobStep) -> ColumnElement[bool]:
    return (job_steps.c.step_id == step.step_id) & (job_steps.c.token == step.token)


def _in_seconds(seconds: float) -> ColumnElement[datetime]:
    """A time of the database's clock: those of the workers may differ."""
    return func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def _pause_key(book_id: str) -> str:
    return f"no new jobs: {book_id}"


def _has_book(connection: Connection, book_id: str) -> bool:
    return connection.execute(select(books.c.id).where(books.c.id == book_id)).first() is not None


def _step_lost(step: JobStep) -> StepLost:
    return StepLost(
        f"Another worker has taken over a step of job {step.job.job_id}, or the job has ended.",
        advice="Nothing to do: the work of this worker is not published.",
    )
