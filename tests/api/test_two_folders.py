"""Two services with data folders of their own on one PostgreSQL: no one takes the other's book away."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from bookwise.adapters.sql.database import open_database
from bookwise.adapters.sql.tables import lessons
from bookwise.domain.errors import CollectionMismatch
from bookwise.operations.books import RemoveBook
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.api.test_stream import VALVE
from tests.support.apps import found, ingested, write_book
from tests.support.databases import migrated_postgres, postgres  # noqa: F401 - fixtures
from tests.support.http_service import http_service
from tests.support.postgres import Postgres
from tests.support.small_book import LESSONS, settings_for

pytestmark = pytest.mark.anyio

BOOK = "irrigation-course"


@pytest.fixture
def url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:  # noqa: F811
    with postgres.empty_database(like=migrated_postgres) as new:
        yield new


def folder(tmp_path: Path, name: str, url: str) -> Settings:
    return settings_for(tmp_path / name, embedder="hashing", database_url=url)


async def test_a_second_index_for_a_book_is_refused_and_the_first_keeps_it(tmp_path: Path, url: str) -> None:
    one, two = (folder(tmp_path, name, url) for name in ("one", "two"))
    root = write_book(tmp_path / "book", LESSONS)
    async with open_app(one) as app:
        await ingested(app, root, book_id=BOOK)
    async with open_app(two) as app:
        with pytest.raises(CollectionMismatch, match=BOOK) as caught:
            await ingested(app, root, book_id=BOOK)
        assert "QDRANT_URL" in caught.value.advice
        with pytest.raises(CollectionMismatch):
            await ingested(app, root, book_id=BOOK, mode="recreate")
        assert [job.status for job in await app.jobs.jobs(BOOK)] == ["completed"]
        await ingested(app, root, book_id="another")
    async with open_app(one) as app:
        assert (await found(app, "irrigation valve", book_id=BOOK)).hits
        await ingested(app, root, book_id=BOOK)


async def test_a_service_without_the_lessons_of_a_book_is_not_ready_and_does_not_refuse_the_question(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = (folder(tmp_path, name, url) for name in ("one", "two"))
    async with open_app(one) as app:
        await ingested(app, write_book(tmp_path / "book", LESSONS), book_id=BOOK)
    async with http_service(one) as first, http_service(two) as second:
        assert (await first.client.get("/health/ready")).status_code == 200
        with caplog.at_level(logging.ERROR, logger="bookwise.api"):
            states = [await second.client.get("/health/ready") for _ in range(3)]
        assert [state.status_code for state in states] == [503, 503, 503]
        assert states[0].json()["dependencies"]["books"]["code"] == "collection-mismatch"
        assert BOOK not in states[0].text, "anyone may ask"
        reasons = [vars(record)["reason"] for record in caplog.records if record.message == "health.failed"]
        assert len(reasons) == 1, "logged once"
        assert BOOK in reasons[0]
        asked = await second.client.post("/chat/run", json={"message": VALVE, "book_id": BOOK})
        assert (asked.status_code, asked.json()["code"]) == (503, "index-mismatch")


async def test_a_book_whose_folder_is_lost_can_be_removed_and_ingested_again(tmp_path: Path, url: str) -> None:
    root = write_book(tmp_path / "book", LESSONS)
    async with open_app(folder(tmp_path, "lost", url)) as app:
        await ingested(app, root, book_id=BOOK)
    async with open_app(folder(tmp_path, "new", url)) as app:
        await RemoveBook(book_id=BOOK).run(app)
        await ingested(app, root, book_id=BOOK)
        assert (await found(app, "irrigation valve", book_id=BOOK)).hits


async def test_a_book_that_is_ingested_for_the_first_time_does_not_make_the_service_unready(
    tmp_path: Path, url: str
) -> None:
    async with http_service(folder(tmp_path, "one", url)) as opened:
        app = opened.service.app
        await ingested(app, write_book(tmp_path / "book", LESSONS), book_id=BOOK)
        book = await app.catalog.book(BOOK)
        await RemoveBook(book_id=BOOK).run(app)
        await app.catalog.register(book)
        assert (await opened.client.get("/health")).status_code == 200


async def test_a_book_that_has_lost_its_lessons_makes_the_service_unready(tmp_path: Path, url: str) -> None:
    async with http_service(folder(tmp_path, "one", url)) as opened:
        await ingested(opened.service.app, write_book(tmp_path / "book", LESSONS), book_id=BOOK)
        async with open_database(url) as database:
            await database.write(lambda connection: connection.execute(delete(lessons)))
        await opened.service.app.catalog.withdraw(BOOK, ["nothing.md"])  # a new generation
        answer = await opened.client.get("/health")
        assert (answer.status_code, json.loads(answer.text)["dependencies"]["books"]["ok"]) == (503, False)
