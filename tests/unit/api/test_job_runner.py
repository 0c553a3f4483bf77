"""Jobs in the background: they end in exactly one way, whoever interrupts them, and block nobody afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from bookwise.api.job_runner import JOBS_AT_ONCE, JobRunner, open_job_runner
from bookwise.domain.errors import (
    EmbedderMismatch,
    InvalidInput,
    JobAlreadyRunning,
    NotFound,
    SourceNotFound,
    StoreUnavailable,
)
from bookwise.domain.jobs import TRIES_MAX, IngestionJob, LessonRecord
from bookwise.ingestion.doctor import examine
from bookwise.operations.sources import preview_changes
from bookwise.wiring import App
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.gated_embedder import GatedEmbedder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # every call opens a data folder: 0.2 s

LESSONS = {
    f"lesson-{n:03}.md": f"# Lesson {n}\n\nJoint number {n} bends as far as wire number {n}.\n" for n in range(150)
}


class StoreWithOutages:
    """A job store whose database is away while `down`."""

    def __init__(self, jobs: object) -> None:
        self._jobs = jobs
        self.down = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._jobs, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.down:
                raise StoreUnavailable("The database is away.")
            return await method(*args, **kwargs)

        return call


class CancellingCatalog:
    """A catalog whose job is cancelled in the very moment that its lessons have gone live."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.cancel: Callable[[int], Awaitable[object]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app.catalog, name)

    async def activate(self, records: Sequence[LessonRecord]) -> None:
        await self._app.catalog.activate(records)
        [newest] = await self._app.jobs.jobs("book", limit=1)
        await self.cancel(newest.job_id)


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder()


@pytest.fixture
async def app(tmp_path: Path, embedder: GatedEmbedder) -> AsyncIterator[App]:
    """An app whose catalog knows the book "book", with one lesson, and whose gate is shut from then on."""
    async with hashing_app(tmp_path / "data") as opened:
        await ingested(
            opened, write_book(tmp_path / "book", {"first.md": "# First\n\nThe very first lesson of all.\n"})
        )
        embedder.is_open = False
        yield replace(opened, embedder=embedder)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - what is waited for is the state of the product
            await anyio.sleep(0.005)


async def job_when(app: App, job_id: int, fits: Callable[[IngestionJob], bool]) -> IngestionJob:
    with anyio.fail_after(20):
        while True:
            if fits(job := await app.jobs.job(job_id)):
                return job
            await anyio.sleep(0.005)


async def ended(app: App, job_id: int) -> IngestionJob:
    return await job_when(app, job_id, lambda job: job.completed_at is not None)


async def ran(app: App, runner: JobRunner) -> IngestionJob:
    """A job of the book, when it is over."""
    return await ended(app, (await runner.trigger("book")).job_id)


async def half_done(runner: JobRunner, embedder: GatedEmbedder, root: Path) -> IngestionJob:
    """A job of a large book that has published its first lessons and waits to embed the next ones."""
    write_book(root, LESSONS)
    job = await runner.trigger("book")
    embedder.let_pass()
    await until(lambda: embedder.calls == 2)
    return job


async def test_a_trigger_returns_a_durable_job_that_then_runs_on_its_own(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    write_book(tmp_path / "book", LESSONS)
    async with open_job_runner(app) as runner:
        job = await runner.trigger("book")
        assert (await app.jobs.jobs("book"))[0].job_id == job.job_id
        embedder.is_open = True
        done = await ended(app, job.job_id)
    assert (done.status, done.files_processed + done.files_skipped) == ("completed", 151)
    assert (await found(app, "joint number 77 wire")).hits[0].chunk.locator.source_file == "lesson-077.md"


async def test_progress_can_be_read_while_the_job_runs(app: App, embedder: GatedEmbedder, tmp_path: Path) -> None:
    write_book(tmp_path / "book", LESSONS)
    async with open_job_runner(app) as runner:
        job = await runner.trigger("book")
        await until(lambda: embedder.calls == 1)
        before = await app.jobs.job(job.job_id)
        assert (before.status, before.total_files, before.files_processed) == ("running", 151, 0)
        embedder.let_pass()
        now = await job_when(app, job.job_id, lambda job: job.files_processed > 0)
        assert now.status == "running"
        assert 0 < now.files_processed < 150
        assert len(await app.jobs.outcomes(job.job_id)) == now.files_processed + now.files_skipped


async def test_a_book_has_one_job_at_a_time_and_other_books_go_on(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    embedder.is_open = True
    await ingested(
        app, write_book(tmp_path / "other", {"a.md": "# Other\n\nAnother book altogether.\n"}), book_id="other"
    )
    embedder.is_open = False
    write_book(tmp_path / "book", {"second.md": "# Second\n\nA second lesson comes in.\n"})
    async with open_job_runner(app) as runner:
        first = await runner.trigger("book")
        with pytest.raises(JobAlreadyRunning, match=f"job {first.job_id}"):
            await runner.trigger("book", "full")
        other = await runner.trigger("other")
        assert (await ended(app, other.job_id)).status == "completed", "nothing of it needs the gate"
        embedder.let_pass()
        assert (await ended(app, first.job_id)).status == "completed"


async def queue(app: App, runner: JobRunner, embedder: GatedEmbedder, root: Path) -> list[IngestionJob]:
    """Two jobs more than may run at once, of as many books; the first ones wait at the gate."""
    embedder.is_open = True
    books = [f"book-{n}" for n in range(JOBS_AT_ONCE + 2)]
    for book in books:
        folder = write_book(root / book, {"a.md": f"# {book}\n\nAll there is to say about {book}.\n"})
        await ingested(app, folder, book_id=book)
    embedder.is_open = False
    jobs = [await runner.trigger(book, "recreate") for book in books]
    await until(lambda: embedder.calls == 2 * JOBS_AT_ONCE + 2)
    return jobs


async def test_jobs_beyond_the_number_that_may_run_wait_in_the_queue_and_can_be_cancelled_there(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    async with open_job_runner(app) as runner:
        jobs = await queue(app, runner, embedder, tmp_path)
        assert [(await app.jobs.job(job.job_id)).status for job in jobs] == ["running"] * JOBS_AT_ONCE + ["queued"] * 2
        await runner.cancel(jobs[-1].job_id)
        cancelled = await ended(app, jobs[-1].job_id)
        assert (cancelled.status, cancelled.error_message, cancelled.started_at) == ("failed", "cancelled", None)
        embedder.let_pass(JOBS_AT_ONCE + 1)
        assert [(await ended(app, job.job_id)).status for job in jobs[:-1]] == ["completed"] * (JOBS_AT_ONCE + 1)


async def test_a_cancelled_job_keeps_what_it_published_says_so_and_leaves_nothing_half(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    async with open_job_runner(app) as runner:
        job = await half_done(runner, embedder, tmp_path / "book")
        assert (await runner.cancel(job.job_id)).job_id == job.job_id
        done = await ended(app, job.job_id)
        assert (done.status, done.error_message) == ("failed", "cancelled")
        published = {o.source_file for o in await app.jobs.outcomes(job.job_id) if o.status == "published"}
        live = {record.source_file for record in await app.catalog.records("book")}
        assert live == published | {"first.md"}
        assert len(published) == done.files_processed < 150
        kinds = {finding.kind for finding in await examine("book", index=app.index, catalog=app.catalog)}
        assert "incomplete-lesson" not in kinds
        embedder.is_open = True
        again = await ran(app, runner)
    assert (again.status, again.files_processed) == ("completed", 151 - len(published))
    assert await examine("book", index=app.index, catalog=app.catalog) == []


async def test_a_job_cancelled_while_lessons_go_live_counts_them(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    write_book(tmp_path / "book", LESSONS)
    embedder.is_open = True
    catalog: Any = CancellingCatalog(app)
    async with open_job_runner(replace(app, catalog=catalog)) as runner:
        catalog.cancel = runner.cancel
        done = await ran(app, runner)
    assert done.error_message == "cancelled"
    published = {o.source_file for o in await app.jobs.outcomes(done.job_id) if o.status == "published"}
    assert 0 < len(published) == done.files_processed < 150
    assert {record.source_file for record in await app.catalog.records("book")} == published | {"first.md"}


async def test_a_job_that_has_ended_cannot_be_cancelled_any_more(app: App) -> None:
    async with open_job_runner(app) as runner:
        job = await ran(app, runner)
        assert job.status == "completed"
        assert await runner.cancel(job.job_id) == job
        with pytest.raises(NotFound):
            await runner.cancel(4711)


async def test_a_job_of_another_process_cannot_be_cancelled_here(app: App) -> None:
    async with open_job_runner(app) as runner:
        job = await app.jobs.open("book", "full", "elsewhere")
        with pytest.raises(JobAlreadyRunning, match="another process"):
            await runner.cancel(job.job_id)
    assert (await app.jobs.job(job.job_id)).status == "queued"


@pytest.mark.slow
async def test_cancelled_at_any_moment_a_job_ends_in_exactly_one_way(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    embedder.is_open = True
    seen = set()
    async with open_job_runner(app) as runner:
        for moment in range(60):
            write_book(tmp_path / "book", {"first.md": f"# First\n\nEdition {moment} of the first lesson.\n"})
            job = await runner.trigger("book")
            for _ in range(moment):
                await anyio.sleep(0.0005)
            await runner.cancel(job.job_id)
            done = await ended(app, job.job_id)
            await until(lambda: not runner.is_busy)
            assert await app.jobs.job(job.job_id) == done, "a job that ended never changes again"
            assert (done.status, done.error_message) in [("completed", None), ("failed", "cancelled")]
            kinds = {finding.kind for finding in await examine("book", index=app.index, catalog=app.catalog)}
            assert "incomplete-lesson" not in kinds
            seen.add(done.status)
    assert seen == {"completed", "failed"}, "both ways were tried"


async def test_a_job_that_runs_when_the_service_stops_is_queued_again_and_the_next_start_ends_it(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    async with open_job_runner(app) as runner:
        job = await half_done(runner, embedder, tmp_path / "book")
    stopped = await app.jobs.job(job.job_id)
    assert (stopped.status, stopped.attempt, stopped.files_processed) == ("queued", 2, 0)
    assert await app.jobs.outcomes(job.job_id) == []
    live = {record.source_file for record in await app.catalog.records("book")} - {"first.md"}
    embedder.is_open = True
    async with open_job_runner(app):
        done = await ended(app, job.job_id)
    assert (done.status, done.attempt, done.total_files) == ("completed", 2, 151)
    again = {outcome.source_file for outcome in await app.jobs.outcomes(job.job_id)}
    assert live, "the first attempt published something"
    assert not again & live, "and that is not done again"


async def test_a_job_that_waits_when_the_service_stops_waits_on_and_has_lost_no_attempt(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    async with open_job_runner(app) as runner:
        jobs = await queue(app, runner, embedder, tmp_path)
    left = [await app.jobs.job(job.job_id) for job in jobs]
    assert [(job.status, job.attempt) for job in left] == [("queued", 2)] * JOBS_AT_ONCE + [("queued", 1)] * 2
    embedder.is_open = True
    async with open_job_runner(app):
        assert {(await ended(app, job.job_id)).status for job in jobs} == {"completed"}


async def test_a_job_that_was_cancelled_stays_cancelled_when_the_service_stops_in_the_same_moment(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    async with open_job_runner(app) as runner:
        job = await half_done(runner, embedder, tmp_path / "book")
        await runner.cancel(job.job_id)
    done = await app.jobs.job(job.job_id)
    assert (done.status, done.error_message) == ("failed", "cancelled")


async def test_a_service_that_breaks_down_leaves_its_jobs_to_the_next_one(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    with suppress(BaseExceptionGroup):
        async with open_job_runner(app) as runner:
            job = await half_done(runner, embedder, tmp_path / "book")
            raise ZeroDivisionError
    assert (await app.jobs.job(job.job_id)).status == "queued"


async def crashed(app: App, book_id: str, source: Path, attempts: int) -> IngestionJob:
    """A job that was running when its process died, for so many times."""
    job = await app.jobs.start((await app.jobs.open(book_id, "incremental", str(source))).job_id)
    for _ in range(attempts - 1):
        await app.jobs.requeue(job.job_id)
        job = await app.jobs.start(job.job_id)
    return job


async def test_a_job_that_broke_off_too_often_fails_as_poison_and_the_others_go_on(app: App, tmp_path: Path) -> None:
    poison = await crashed(app, "poison", tmp_path / "book", TRIES_MAX)
    crashed_once = await crashed(app, "book", tmp_path / "book", 1)
    waiting = await app.jobs.open("waiting", "incremental", str(tmp_path / "book"))
    async with open_job_runner(app):
        failed = await app.jobs.job(poison.job_id)
        assert (failed.status, failed.attempt) == ("failed", TRIES_MAX)
        assert (failed.error_message or "").startswith("poison: ")
        again = await ended(app, crashed_once.job_id)
        assert (again.status, again.attempt) == ("completed", 2)
        assert (await job_when(app, waiting.job_id, lambda job: job.status != "queued")).attempt == 1


async def test_a_job_that_never_lets_the_service_live_is_tried_no_more_than_so_often(app: App, tmp_path: Path) -> None:
    job = await crashed(app, "book", tmp_path / "book", TRIES_MAX - 1)
    async with open_job_runner(app):
        again = await ended(app, job.job_id)
    assert (again.status, again.attempt) == ("completed", TRIES_MAX), "the last attempt is made, too"


async def test_a_bug_in_one_job_is_written_into_it_and_the_next_one_runs(
    app: App, embedder: GatedEmbedder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_book(tmp_path / "book", LESSONS)
    embedder.broken = True
    async with open_job_runner(app) as runner:
        failed = await ran(app, runner)
        assert failed.error_message == "bug: ZeroDivisionError"
        embedder.broken, embedder.is_open = False, True
        assert (await ran(app, runner)).status == "completed"
    assert "ingestion.bug" in caplog.messages


async def test_a_source_that_is_gone_fails_the_job_and_takes_nothing_away(app: App, tmp_path: Path) -> None:
    (tmp_path / "book").rename(tmp_path / "moved")
    async with open_job_runner(app) as runner:
        job = await ran(app, runner)
        with pytest.raises(SourceNotFound):
            await preview_changes("book", app)
    assert job.status == "failed"
    assert (job.error_message or "").startswith("source-not-found: ")
    assert len(await app.catalog.records("book")) == 1


async def test_a_job_whose_end_the_database_did_not_hear_of_does_not_block_the_book(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    write_book(tmp_path / "book", LESSONS)
    jobs: Any = StoreWithOutages(app.jobs)
    async with open_job_runner(replace(app, jobs=jobs)) as runner:
        job = await runner.trigger("book")
        await until(lambda: embedder.calls == 1)
        jobs.down = embedder.is_open = True
        embedder.let_pass()
        await until(lambda: not runner.is_busy)
        jobs.down = False
        assert (await app.jobs.job(job.job_id)).status == "running", "nobody could write that it ended"
        again = await runner.trigger("book")
        assert (await ended(app, again.job_id)).status == "completed"
    lost = await app.jobs.job(job.job_id)
    assert lost.status == "failed"
    assert (lost.error_message or "").startswith("Interrupted")


async def test_a_change_that_comes_while_the_book_is_ingested_is_ingested_right_after(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    write_book(tmp_path / "book", {"second.md": "# Second\n\nA second lesson comes in.\n"})
    async with open_job_runner(app) as runner:
        first = await runner.trigger("book")
        await until(lambda: embedder.calls == 1)
        write_book(tmp_path / "book", {"third.md": "# Third\n\nThe third lesson was too late for the job.\n"})
        for _ in range(5):
            assert (await runner.trigger_latest("book")).job_id == first.job_id
        embedder.is_open = True
        embedder.let_pass()
        await until(lambda: not runner.is_busy)
    assert [job.status for job in await app.jobs.jobs("book")] == ["completed"] * 3, "setup, the job, one more"
    assert {record.source_file for record in await app.catalog.records("book")} == {"first.md", "second.md", "third.md"}


async def test_cancelling_a_job_also_drops_the_one_that_would_follow(
    app: App, embedder: GatedEmbedder, tmp_path: Path
) -> None:
    write_book(tmp_path / "book", {"second.md": "# Second\n\nA second lesson comes in.\n"})
    async with open_job_runner(app) as runner:
        job = await runner.trigger("book")
        await until(lambda: embedder.calls == 1)
        await runner.trigger_latest("book")
        await runner.cancel(job.job_id)
        await until(lambda: not runner.is_busy)
    assert [job.error_message for job in await app.jobs.jobs("book")] == ["cancelled", None]


async def test_what_cannot_be_ingested_opens_no_job(app: App) -> None:
    book = await app.catalog.book("book")
    await app.catalog.register(replace(book, id="bound", embedder="another:384"))
    await app.catalog.register(replace(book, id="homeless", source=""))
    async with open_job_runner(app) as runner:
        for book_id, error in [("bound", EmbedderMismatch), ("homeless", SourceNotFound), ("absent", NotFound)]:
            with pytest.raises(error):
                await runner.trigger(book_id)
            assert await app.jobs.jobs(book_id) == []


async def test_changes_say_what_an_ingest_would_do_and_do_nothing(app: App, tmp_path: Path) -> None:
    write_book(tmp_path / "book", {"second.md": "# Second\n\nA second lesson comes in.\n", "bad.md": ""})
    (tmp_path / "book" / "bad.md").write_bytes(b"\xff\xfe\x00 broken \xd8")
    async with open_job_runner(app):
        difference = await preview_changes("book", app)
        site = replace(await app.catalog.book("book"), source="https://book.example/")
        await app.catalog.register(site)
        with pytest.raises(InvalidInput, match="read from a site"):
            await preview_changes("book", app)
    assert [file.source_file for file in difference.changes.new] == ["second.md"]
    assert [lesson.source_file for lesson in difference.unreadable] == ["bad.md"]
    assert len(await app.jobs.jobs()) == 1


async def test_a_runner_with_nothing_to_do_ends_at_once(app: App) -> None:
    with anyio.fail_after(1):
        async with open_job_runner(app) as runner:
            assert isinstance(runner, JobRunner)
            assert not runner.is_busy


async def test_a_job_triggered_while_a_book_is_being_removed_opens_afterwards(app: App) -> None:
    before = len(await app.jobs.jobs("book"))
    async with open_job_runner(app) as runner, anyio.create_task_group() as callers, runner.pause_opening("book"):
        callers.start_soon(runner.trigger, "book")
        await anyio.wait_all_tasks_blocked()
        assert len(await app.jobs.jobs("book")) == before
    assert len(await app.jobs.jobs("book")) == before + 1
