"""Every retention setting acts: a record stays as long as its setting says, and no longer."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.journal import SqlJournal
from bookwise.adapters.sql.responses import SqlResponses
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.journal import AskedQuestion
from bookwise.operations.retention import apply_retention
from bookwise.ports import KeptResponse
from bookwise.wiring import database_url, open_app
from tests.support.databases import ask
from tests.support.small_book import settings_for
from tests.support.talks import WallClock, talk

pytestmark = pytest.mark.anyio


async def fill(database: Database, clock: WallClock) -> None:
    """One thread, question and response, and two ended jobs: the newest of a book always stays."""
    threads = SqlThreads(database, clock=clock)
    await talk(threads, (await threads.create(book_id="robots")).id, clock, range(1))
    question = AskedQuestion(
        answer_id=str(uuid4()), book_id="robots", owner="", asked_at=clock.now, question="Why?", outcome="answered"
    )
    await SqlJournal(database, clock=clock).note(question)
    responses = SqlResponses(database, clock=clock)
    await responses.claim("", "key", "a", lease_seconds=1)
    await responses.keep("", "key", KeptResponse(status=200, headers={}, body=b""))
    jobs = SqlJobs(database, clock=clock)
    for _ in range(2):
        job = await jobs.start((await jobs.open("robots", "full", "folder")).job_id)
        await jobs.fail(job.job_id, "stopped")


@pytest.mark.parametrize(
    ("table", "setting", "unit"),
    [
        ("kept_responses", "retain_responses_hours", timedelta(hours=1)),
        ("asked_questions", "retain_questions_days", timedelta(days=1)),
        ("conversation_threads", "retain_threads_days", timedelta(days=1)),
        ("jobs", "retain_jobs_days", timedelta(days=1)),
    ],
)
async def test_a_changed_setting_decides(tmp_path: Path, table: str, setting: str, unit: timedelta) -> None:
    settings = settings_for(tmp_path / "data", embedder="hashing")
    settings.data_dir.mkdir()
    clock = WallClock()
    clock.now = datetime.now(UTC) - 10 * unit
    found = []
    async with open_database(database_url(settings)) as database:
        await fill(database, clock)
        async with open_app(settings) as app:
            for value in (11, 9):
                await apply_retention(replace(app, settings=replace(settings, **{setting: value})))
                found.append(await ask(database, f"SELECT count(*) FROM {table}"))
    assert found == ([2, 1] if table == "jobs" else [1, 0])


async def test_a_response_is_repeated_as_long_as_the_setting_says(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data", embedder="hashing", retain_responses_hours=9)
    settings.data_dir.mkdir()
    clock = WallClock()
    clock.now = datetime.now(UTC) - timedelta(hours=10)
    async with open_database(database_url(settings)) as database:
        await fill(database, clock)
    async with open_app(settings) as app:
        assert await app.responses.claim("", "key", "a", lease_seconds=1) is None, "free again"
