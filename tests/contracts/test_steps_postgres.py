"""What the port `StepStore` promises: one worker at a time, one commit per batch, and none by a worker that is late."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.queue_tables import prepare_queue_tables
from bookwise.adapters.sql.step_messages import queue_of
from bookwise.adapters.sql.steps import SqlSteps
from bookwise.domain.books import Audience, Book, Calibration, LessonFile, LessonPosition, Module
from bookwise.domain.errors import Conflict, JobAlreadyRunning, NotFound, StepLost
from bookwise.domain.jobs import TRIES_MAX, JobPlan, JobStep, LessonOutcome, LessonRecord, PlannedLesson
from tests.support.databases import ask, run
from tests.support.postgres import Postgres
from tests.support.processes import Report, child

pytestmark = pytest.mark.anyio

HOLDER = "index-1"
BOOK = Book(
    id="book",
    title="A book",
    source="/srv/book",
    modules=(Module(name="basics", aliases=("start",)),),
    embedder="hashing:1",
    embedder_name="hashing",
    embedder_size=8,
    calibration=Calibration(knots=((0.0, 0.0), (1.0, 1.0))),
)
PLAN = JobPlan(book=BOOK, withdraw=("old.md",), max_file_bytes=1000)


@pytest.fixture
def postgres_url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.new_database(like=migrated_postgres) as url:
        yield url


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    async with open_database(postgres_url) as opened:
        await prepare_queue_tables(opened)
        yield opened


@pytest.fixture
def steps(database: Database) -> SqlSteps:
    return SqlSteps(database, holder=HOLDER)


def lesson(name: str) -> PlannedLesson:
    file = LessonFile(
        book_id="book",
        source_file=name,
        file_hash="0" * 64,
        format="markdown",
        position=LessonPosition(module="basics", chapter=1, lesson=2),
        audience=Audience(hardware_tier=2),
        breadcrumb=("Basics", "Ü – 机"),
    )
    return PlannedLesson(file=file, content=b"\x00\xff bytes of " + name.encode())


def record(name: str, revision: str = "1") -> LessonRecord:
    return LessonRecord(
        book_id="book",
        source_file=name,
        lesson_id=f"id of {name}",
        revision=f"{name} {revision}",
        file_hash="0" * 64,
        position=LessonPosition(module="basics"),
        title=name,
        url="",
        chunk_ids=("a", "b"),
        ingested_at=datetime.now(UTC),
    )


def published(name: str) -> LessonOutcome:
    return LessonOutcome(source_file=name, status="published", chunks_created=2)


async def queued(steps: SqlSteps) -> list[int]:
    """The steps that are in the queue of this index, in the order in which a worker gets them."""
    where = f"queue_name = '{queue_of(HOLDER)}' AND status = 'todo'"
    ids = "string_agg(args->>'step_id', ' ' ORDER BY priority DESC, id)"
    found: str | None = await ask(steps._database, f"SELECT {ids} FROM procrastinate_jobs WHERE {where}")
    return [int(step_id) for step_id in (found or "").split()]


async def claimed(steps: SqlSteps, step_id: int, lease_seconds: float = 60) -> JobStep:
    step = await steps.claim(step_id, lease_seconds=lease_seconds)
    assert step is not None
    return step


async def planned(steps: SqlSteps, *batches: list[str]) -> list[int]:
    """The steps of a planned job, one for each batch of lessons."""
    await steps.open("book", "incremental", "/srv/book")
    plan = await claimed(steps, (await queued(steps))[0])
    for number, names in enumerate(batches, start=1):
        await steps.add_batch(plan, number, [lesson(name) for name in names])
    await steps.store_plan(plan, PLAN, total_files=sum(map(len, batches)), warnings=[], outcomes=[])
    return (await queued(steps))[1:]  # the first is the message of the plan


async def test_a_job_and_its_message_are_stored_together(steps: SqlSteps) -> None:
    job = await steps.open("book", "full", "/srv/book", pull=True)
    assert (job.status, job.mode, job.source) == ("queued", "full", "/srv/book")
    [step_id] = await queued(steps)
    with pytest.raises(JobAlreadyRunning, match=f"job {job.job_id}"):
        await steps.open("book", "full", "/srv/book")
    assert await queued(steps) == [step_id]
    step = await claimed(steps, step_id)
    assert (step.kind, step.job.status, step.job.attempt, step.token, step.pull) == ("plan", "running", 1, 1, True)


async def test_a_step_is_run_by_one_worker_at_a_time(steps: SqlSteps) -> None:
    await steps.open("book", "full", "/srv/book")
    [step_id] = await queued(steps)
    claims: list[JobStep | None] = []

    async def attempt() -> None:
        claims.append(await steps.claim(step_id, lease_seconds=60))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(attempt)
    assert sum(claim is not None for claim in claims) == 1
    assert await steps.claim(step_id + 1, lease_seconds=60) is None, "there is no such step"
    assert await SqlSteps(steps._database, holder="another index").claim(step_id, lease_seconds=60) is None


async def test_a_batch_arrives_as_it_was_planned(steps: SqlSteps) -> None:
    first, second = await planned(steps, ["a.md", "b.md"], ["c.md"])
    step = await claimed(steps, first)
    assert await steps.lessons(step) == [lesson("a.md"), lesson("b.md")]
    assert await steps.plan(step) == PLAN
    assert await steps.lessons(await claimed(steps, second)) == [lesson("c.md")]


async def test_a_job_goes_through_its_steps(steps: SqlSteps) -> None:
    database = steps._database
    catalog, jobs = SqlCatalog(database, index_id=HOLDER, exclusive=False), SqlJobs(database, holder=HOLDER)
    batches = await planned(steps, ["a.md", "b.md"], ["c.md"])
    failed = LessonOutcome(source_file="b.md", status="failed", reason="encoding", message="byte 3")
    first = await claimed(steps, batches[0])
    with pytest.raises(NotFound):
        await catalog.book("book")
    await steps.commit(first, BOOK, [record("a.md")], [published("a.md"), failed])
    assert await catalog.book("book") == BOOK
    await catalog.activate([record("old.md")])
    await steps.commit(await claimed(steps, batches[1]), BOOK, [record("c.md")], [published("c.md")])
    finish = await claimed(steps, max(await queued(steps)))
    assert finish.kind == "finish"
    for withdrawn in ([LessonOutcome(source_file="old.md", status="withdrawn", chunks_deleted=2)], []):
        assert await steps.close_book(finish, await steps.plan(finish)) == withdrawn, (
            "a repetition counts nothing twice"
        )
    job = await steps.finish(finish)
    assert (job.status, job.files_processed, job.files_skipped, job.files_failed) == ("completed", 2, 1, 1)
    assert (job.files_withdrawn, job.chunks_created, job.chunks_deleted, job.attempt) == (1, 4, 2, 1)
    assert [outcome.source_file for outcome in await jobs.outcomes(job.job_id)] == ["a.md", "b.md", "c.md", "old.md"]
    assert [live.source_file for live in await catalog.records("book")] == ["a.md", "c.md"]
    assert (await catalog.last_ingested("book"))[1] is not None
    for table in ("job_steps", "job_plans", "job_lessons"):
        assert await ask(database, f"SELECT count(*) FROM {table}") == 0


async def test_many_workers_count_every_outcome(steps: SqlSteps) -> None:
    names = [f"{number}.md" for number in range(12)]
    batches = await planned(steps, *([name] for name in names))

    async def work(step_id: int, name: str) -> None:
        await steps.commit(await claimed(steps, step_id), BOOK, [record(name)], [published(name)])

    async with anyio.create_task_group() as tasks:
        for step_id, name in zip(batches, names, strict=True):
            tasks.start_soon(work, step_id, name)
    kinds = await ask(steps._database, "SELECT string_agg(kind, ' ') FROM job_steps")
    assert kinds == "finish", "exactly one of them was the last"
    assert await ask(steps._database, "SELECT files_processed FROM jobs") == 12


def every_change(steps: SqlSteps, step: JobStep) -> dict[str, Callable[[], Awaitable[Any]]]:
    return {
        "extend": lambda: steps.extend(step, lease_seconds=60),
        "check": lambda: steps.check(step),
        "release": lambda: steps.release(step),
        "add_batch": lambda: steps.add_batch(step, 2, [lesson("x.md")]),
        "store_plan": lambda: steps.store_plan(step, PLAN, total_files=1, warnings=[], outcomes=[]),
        "commit": lambda: steps.commit(step, BOOK, [record("a.md", "late")], [published("a.md")]),
        "close_book": lambda: steps.close_book(step, PLAN),
        "finish": lambda: steps.finish(step),
        "fail": lambda: steps.fail(step, "late"),
    }


async def test_a_worker_whose_step_was_taken_over_changes_nothing(steps: SqlSteps) -> None:
    [step_id] = await planned(steps, ["a.md"])
    late = await claimed(steps, step_id, lease_seconds=0)
    newest = await claimed(steps, step_id)
    assert newest.token > late.token
    for change in every_change(steps, late).values():
        with pytest.raises(StepLost) as caught:
            await change()
        assert isinstance(caught.value, Conflict)
    await steps.commit(newest, BOOK, [record("a.md")], [published("a.md")])
    for change in every_change(steps, late).values():
        with pytest.raises(StepLost):
            await change()
    catalog = SqlCatalog(steps._database, index_id=HOLDER, exclusive=False)
    assert [live.revision for live in await catalog.records("book")] == ["a.md 1"]
    assert await ask(steps._database, "SELECT files_processed FROM jobs") == 1


async def test_a_cancelled_job_refuses_the_batch_that_was_running(steps: SqlSteps) -> None:
    first, second = await planned(steps, ["a.md"], ["b.md"])
    running = await claimed(steps, first)
    job = await steps.cancel(running.job.job_id)
    assert (job.status, job.error_message) == ("failed", "cancelled")
    for change in every_change(steps, running).values():
        with pytest.raises(StepLost):
            await change()
    with pytest.raises(StepLost):
        await steps.plan(running)
    assert await steps.claim(second, lease_seconds=60) is None
    assert await steps.cancel(running.job.job_id) == job
    with pytest.raises(NotFound):
        await steps.cancel(4711)


async def test_a_lease_that_is_renewed_is_not_taken_over(steps: SqlSteps) -> None:
    [step_id] = await planned(steps, ["a.md"])
    step = await claimed(steps, step_id, lease_seconds=0)
    await steps.extend(step, lease_seconds=60)
    assert await steps.claim(step_id, lease_seconds=60) is None
    await steps.check(step)


async def test_a_step_that_is_handed_back_is_queued_and_counts_as_no_failure(steps: SqlSteps) -> None:
    [step_id] = await planned(steps, ["a.md", "b.md"])
    for _ in range(TRIES_MAX + 1):
        await run(steps._database, "DELETE FROM procrastinate_jobs")
        step = await claimed(steps, step_id)
        await steps.release(step)
        assert await queued(steps) == [step_id]
    assert len(await steps.lessons(await claimed(steps, step_id))) == 2
    assert await ask(steps._database, "SELECT attempt FROM jobs") == 1


async def test_a_batch_whose_worker_died_is_split_and_its_poison_is_set_aside(steps: SqlSteps) -> None:
    [step_id] = await planned(steps, ["good.md", "poison.md", "fine.md"])
    assert not await steps.is_suspect(step_id)
    await claimed(steps, step_id, lease_seconds=0)
    assert await steps.is_suspect(step_id)
    assert await steps.claim(step_id, lease_seconds=60) is None, "it is split"
    single = [each for each in await queued(steps) if each > step_id]
    by_name = {(await steps.lessons(await claimed(steps, each, 0)))[0].file.source_file: each for each in single}
    for name in ("good.md", "fine.md"):  # the second try of each
        await steps.commit(await claimed(steps, by_name[name]), BOOK, [record(name)], [published(name)])
    await claimed(steps, by_name["poison.md"], lease_seconds=0)
    assert await steps.claim(by_name["poison.md"], lease_seconds=60) is None, "three workers have died of it"
    jobs = SqlJobs(steps._database)
    [outcome] = [outcome for outcome in await jobs.outcomes(1) if outcome.source_file == "poison.md"]
    assert (outcome.status, outcome.reason) == ("failed", "poison")
    finish = await claimed(steps, max(await queued(steps)))
    assert finish.kind == "finish"
    done = await steps.finish(finish)
    assert (done.status, done.files_processed, done.files_failed) == ("completed", 2, 1)


async def test_lessons_that_may_have_stopped_a_worker_come_last(steps: SqlSteps) -> None:
    first, second, third = await planned(steps, ["a.md", "b.md"], ["c.md"], ["d.md"])
    await claimed(steps, first, lease_seconds=0)
    assert await steps.claim(first, lease_seconds=60) is None, "it is split"
    assert [step for step in await queued(steps) if step >= second][:2] == [second, third]


async def test_what_nobody_holds_is_queued_once(steps: SqlSteps) -> None:
    first, second = await planned(steps, ["a.md"], ["b.md"])
    await run(steps._database, "DELETE FROM procrastinate_jobs")
    await claimed(steps, first)
    assert await steps.enqueue_free() == 1
    assert await steps.enqueue_free() == 0
    assert await queued(steps) == [second]
    assert await SqlSteps(steps._database, holder="another index").enqueue_free() == 0


async def test_the_batches_of_two_jobs_take_turns(steps: SqlSteps) -> None:
    large = await planned(steps, *([f"{number}.md"] for number in range(4)))
    await run(steps._database, "UPDATE jobs SET book_id = 'large'")
    await run(steps._database, "DELETE FROM procrastinate_jobs WHERE priority = 0")
    small = (await planned(steps, ["a.md"], ["b.md"]))[-6:]
    order = [each for each in await queued(steps) if each in (*large, *small)]
    assert [each in large for each in order] == [True, False, True, False, True, True]


async def test_a_plan_that_stopped_half_way_is_made_anew(steps: SqlSteps) -> None:
    await steps.open("book", "incremental", "/srv/book")
    [step_id] = await queued(steps)
    dead = await claimed(steps, step_id, lease_seconds=0)
    await steps.add_batch(dead, 1, [lesson("a.md")])
    await steps.add_batch(dead, 2, [lesson("b.md")])
    plan = await claimed(steps, step_id)
    assert plan.job.attempt == 2
    await steps.add_batch(plan, 1, [lesson("a.md"), lesson("b.md")])
    await steps.store_plan(plan, PLAN, total_files=2, warnings=["a note"], outcomes=[])
    assert await ask(steps._database, "SELECT count(*) FROM job_lessons") == 2
    assert await ask(steps._database, "SELECT warnings FROM jobs") == ["a note"]


async def test_a_plan_without_lessons_goes_on_to_its_end(steps: SqlSteps) -> None:
    await planned(steps)
    finish = await claimed(steps, max(await queued(steps)))
    assert await steps.close_book(finish, PLAN) is None, "a book without a lesson is not listed"
    assert (await steps.finish(finish)).status == "completed"


async def test_a_repeated_job_is_opened_in_the_transaction_that_ends_the_first(steps: SqlSteps) -> None:
    [step_id] = await planned(steps, ["a.md"])
    assert await steps.repeat("absent") is None
    assert await steps.repeat("book") is not None
    job = await steps.fail(await claimed(steps, step_id), "index-unavailable: down")
    assert (job.status, job.error_message) == ("failed", "index-unavailable: down")
    again = await claimed(steps, max(await queued(steps)))
    assert (again.kind, again.pull, again.job.mode, again.job.source) == ("plan", True, "incremental", "/srv/book")


def prepare_in_child(report: Report, url: str) -> None:
    async def prepare() -> None:
        async with open_database(url) as database:
            await prepare_queue_tables(database)

    anyio.run(prepare)
    report("prepared")


async def test_the_tables_of_the_queue_are_created_once_by_concurrent_starters(postgres_url: str) -> None:
    def all_at_once() -> list[tuple[int, list[str]]]:
        with (
            child(prepare_in_child, postgres_url) as one,
            child(prepare_in_child, postgres_url) as two,
            child(prepare_in_child, postgres_url) as three,
        ):
            return [each.ended() for each in (one, two, three)]

    assert await anyio.to_thread.run_sync(all_at_once) == [(0, ["prepared"])] * 3


async def test_the_tables_of_an_older_library_get_its_newer_scripts(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "migrations").mkdir()
    applied = await ask(database, "SELECT value FROM facts WHERE key LIKE 'queue%'")
    for number in range(applied):
        (tmp_path / "migrations" / f"00.{number:02}.sql").write_text("SELECT no_such_column;")
    newer = "CREATE TABLE procrastinate_extra (id int); INSERT INTO procrastinate_extra VALUES (7);"
    (tmp_path / "migrations" / "99.00.sql").write_text(newer)
    monkeypatch.setattr("bookwise.adapters.sql.queue_tables._script_folder", lambda: tmp_path)
    for _ in range(2):
        await prepare_queue_tables(database)
    assert await ask(database, "SELECT sum(id) FROM procrastinate_extra") == 7
