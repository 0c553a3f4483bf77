"""Stored threads over HTTP."""

from uuid import uuid4

import pytest

from bookwise.schemas.sessions import ConversationThread
from tests.support.http_service import Opened
from tests.support.small_book import BOOK
from tests.support.talks import WallClock, talk

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"


async def test_a_session_shows_both_sides_of_each_turn(opened: Opened) -> None:
    told = (await opened.client.post("/chat/run", json={"message": VALVE})).json()
    thread = (await opened.client.get(f"/session/{told['session_id']}")).json()
    ConversationThread.model_validate(thread)
    user, assistant = thread["messages"]
    assert (user["role"], user["content"]) == ("user", VALVE)
    assert (assistant["content"], assistant["confidence"]) == (told["response"], told["confidence"])
    assert assistant["details"]["citations"]
    assert "owner" not in thread


async def test_a_history_is_read_page_by_page_with_what_is_archived(empty: Opened) -> None:
    threads = empty.service.app.threads
    thread = await threads.create(book_id=BOOK)
    await talk(threads, thread.id, WallClock(), range(40))
    pages = [
        (await empty.client.get(f"/session/{thread.id}/history", params={"limit": 30, "offset": offset})).json()
        for offset in (0, 30, 60, 90)
    ]
    assert [len(page["messages"]) for page in pages] == [30, 30, 20, 0]
    assert {page["total"] for page in pages} == {80}
    said = [message["content"] for page in pages for message in page["messages"]]
    assert said[:3] == ["question 0", "answer 0", "question 1"]
    assert said[-1] == "answer 39"


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=-1", "limit=1000000000", "offset=-1", "limit=many"])
async def test_a_page_has_bounds(empty: Opened, query: str) -> None:
    answer = await empty.client.get(f"/session/{uuid4()}/history?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")


async def test_a_deleted_session_is_gone(opened: Opened) -> None:
    session = (await opened.client.post("/chat/run", json={"message": VALVE})).json()["session_id"]
    gone = await opened.client.delete(f"/session/{session}")
    assert (gone.status_code, gone.content) == (204, b"")
    for method, path in (("GET", ""), ("GET", "/history"), ("DELETE", "")):
        assert (await opened.client.request(method, f"/session/{session}{path}")).status_code == 404


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/history"), ("DELETE", "")])
async def test_somebody_elses_session_looks_like_none(locked: Opened, method: str, path: str) -> None:
    mine, theirs = await locked.key(), await locked.key(role="admin")
    session = (await locked.client.post("/chat/run", json={"message": VALVE}, headers=mine)).json()["session_id"]
    absent = str(uuid4())
    foreign, none = [
        (await locked.client.request(method, f"/session/{found}{path}", headers=theirs)) for found in (session, absent)
    ]
    assert (foreign.status_code, none.status_code) == (404, 404)
    told = [{k: v for k, v in answer.json().items() if k != "request_id"} for answer in (foreign, none)]
    assert str(told[0]).replace(session, absent) == str(told[1])
    assert (await locked.client.get(f"/session/{session}", headers=mine)).status_code == 200


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/history"), ("DELETE", "")])
async def test_a_session_that_is_not_there_is_advised_to_begin_one(empty: Opened, method: str, path: str) -> None:
    missing = (await empty.client.request(method, f"/session/{uuid4()}{path}")).json()
    assert missing["status"] == 404
    assert missing["advice"] == "POST /chat/run starts a session and returns its session_id."


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_a_deleted_session_is_gone_from_the_stored_responses_too(opened: Opened, path: str) -> None:
    session, key = str(uuid4()), {"Idempotency-Key": '"once"'}
    asked = {"message": VALVE, "session_id": session}
    await opened.client.post(path, json=asked, headers=key)
    replayed = await opened.client.post(path, json=asked, headers=key)
    assert replayed.headers["idempotent-replayed"] == "true"
    await opened.client.delete(f"/session/{session}")
    again = await opened.client.post(path, json=asked, headers=key)
    assert "idempotent-replayed" not in again.headers
    assert (await opened.client.get(f"/session/{session}/history")).json()["total"] == 2
