"""The books over HTTP: who may remove one, and when."""

import pytest

from tests.support.http_service import Opened
from tests.support.small_book import BOOK

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"


@pytest.mark.own_index
async def test_an_admin_removes_a_book_and_its_sessions_stay(locked: Opened) -> None:
    admin = await locked.key(role="admin")
    session = (await locked.client.post("/chat/run", json={"message": VALVE}, headers=admin)).json()["session_id"]
    removed = await locked.client.delete(f"/books/{BOOK}", headers=admin)
    assert (removed.status_code, removed.content) == (204, b"")
    assert (await locked.client.get("/books", headers=admin)).json() == {"books": []}
    assert (await locked.client.post("/search", json={"text": VALVE}, headers=admin)).status_code == 404
    assert len((await locked.client.get(f"/session/{session}", headers=admin)).json()["messages"]) == 2
    assert (await locked.client.delete(f"/books/{BOOK}", headers=admin)).status_code == 404


async def test_a_question_about_a_removed_book_is_refused_and_not_stored(locked: Opened) -> None:
    admin = await locked.key(role="admin")
    session = (await locked.client.post("/chat/run", json={"message": VALVE}, headers=admin)).json()["session_id"]
    await locked.client.delete(f"/books/{BOOK}", headers=admin)
    asked = await locked.client.post("/chat/run", json={"message": VALVE, "session_id": session}, headers=admin)
    assert (asked.status_code, asked.json()["code"]) == (404, "not-found")
    assert len((await locked.client.get(f"/session/{session}", headers=admin)).json()["messages"]) == 2


async def test_a_reader_and_an_admin_of_another_book_remove_nothing(locked: Opened) -> None:
    reader, other_admin = await locked.key(), await locked.key("other", role="admin")
    assert (await locked.client.delete(f"/books/{BOOK}", headers=reader)).status_code == 403
    assert (await locked.client.delete(f"/books/{BOOK}", headers=other_admin)).status_code == 404
    assert [book.id for book in await locked.service.app.catalog.books()] == [BOOK]


async def test_a_book_with_an_open_job_is_not_removed(opened: Opened) -> None:
    await opened.service.app.jobs.open(BOOK, "incremental", "somewhere")
    refused = await opened.client.delete(f"/books/{BOOK}")
    assert (refused.status_code, refused.json()["code"]) == (409, "job-exists")
    assert [book.id for book in await opened.service.app.catalog.books()] == [BOOK]
