"""Questions over HTTP, answered whole."""

import logging
import re
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from bookwise.answering.converse import converse
from bookwise.schemas.chat import ChatResponse
from tests.support.apps import ingested, write_book
from tests.support.http_service import Opened, events_in, http_service
from tests.support.scripted_http import scripted
from tests.support.scripted_model import refuses, says
from tests.support.small_book import BOOK, question, settings_for

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1] "


async def test_an_answer_has_every_field_and_cites_the_book(opened: Opened) -> None:
    answer = await opened.client.post("/chat/run", json={"message": VALVE})
    assert answer.status_code == 200
    told = ChatResponse.model_validate_json(answer.content)
    assert told.outcome == "answered"
    assert "below 30 percent" in told.response
    assert told.should_answer
    assert told.confidence_level in ("high", "medium", "low")
    assert told.sources[0].url == "https://greenhouse.example/water/02-irrigation#when-the-valve-opens"
    for name in ("response", "confidence", "sources", "session_id", "timestamp", "confidence_level", "should_answer"):
        assert name in answer.json()


async def test_a_question_outside_the_book_is_refused_politely(opened: Opened) -> None:
    answer = (await opened.client.post("/chat/run", json={"message": "Who won the world cup in 1998?"})).json()
    assert (answer["outcome"], answer["reason"]) == ("refused", "not-in-the-book")
    assert (answer["should_answer"], answer["sources"]) == (False, [])


async def test_a_session_is_begun_by_the_first_question_and_goes_on_with_the_next(opened: Opened) -> None:
    first = (await opened.client.post("/chat/run", json={"message": "What is a moisture sensor?"})).json()
    again = {"message": "How do I read one?", "session_id": first["session_id"]}
    second = (await opened.client.post("/chat/run", json=again)).json()
    assert second["session_id"] == first["session_id"]
    assert "greenhouse read --sensor moisture" in second["response"]
    thread = (await opened.client.get(f"/session/{first['session_id']}")).json()
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * 2


async def test_an_unknown_session_is_begun_under_the_id_that_was_given(opened: Opened) -> None:
    given = str(uuid4())
    answer = await opened.client.post("/chat/run", json={"message": VALVE, "session_id": given})
    assert answer.json()["session_id"] == given
    assert (await opened.client.get(f"/session/{given}")).json()["book_id"] == BOOK


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_somebody_elses_session_looks_like_none_and_is_not_touched(locked: Opened, path: str) -> None:
    mine, theirs = await locked.key(), await locked.key()
    foreign, absent = str(uuid4()), str(uuid4())
    asked = {"message": "What is a moisture sensor?", "session_id": foreign}
    await locked.client.post("/chat/run", json=asked, headers=theirs)
    seen = []
    for session in (foreign, absent):
        for _ in range(2):
            answer = await locked.client.post(path, json={"message": VALVE, "session_id": session}, headers=mine)
            seen.append((answer.status_code, without_times(answer.text.replace(session, "ID"))))
    assert seen[:2] == seen[2:]
    assert seen[0][0] == 200
    thread = (await locked.client.get(f"/session/{foreign}", headers=theirs)).json()
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"]
    assert thread["thread_id"] == foreign
    for session in (foreign, absent):
        own = (await locked.client.get(f"/session/{session}/history", headers=mine)).json()
        assert (own["total"], own["session_id"]) == (4, session)
        assert (await locked.client.get(f"/session/{session}", headers=mine)).json()["thread_id"] == session
        assert (await locked.client.delete(f"/session/{session}", headers=mine)).status_code == 204
    assert (await locked.client.get(f"/session/{foreign}", headers=theirs)).json() == thread


def without_times(text: str) -> str:
    """A response without what differs between any two: times, durations and the id of the answer."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}", "UUID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    return re.sub(r'("[a-z_]*(?:ms|seconds)[a-z_]*":\s*)[\d.]+', r"\1N", text)


async def test_a_session_of_an_earlier_version_is_still_its_owners(locked: Opened) -> None:
    key, secret = await locked.service.keys.create("a key", "reader")
    headers = {"Authorization": f"Bearer {secret}"}
    thread = await locked.service.app.threads.create(book_id=BOOK, owner=key.id)
    answer = await locked.client.post("/chat/run", json={"message": VALVE, "session_id": thread.id}, headers=headers)
    assert answer.json()["session_id"] == thread.id
    assert len((await locked.service.app.threads.thread(thread.id, owner=key.id)).messages) == 2


async def test_a_second_question_while_the_first_is_answered_is_told_to_wait(opened: Opened) -> None:
    thread = await opened.service.app.threads.create(book_id=BOOK)
    asked = {"message": VALVE, "session_id": thread.id}
    running = converse(question(VALVE), thread.id, kit=opened.service.kit, threads=opened.service.app.threads)
    async with aclosing(running):
        await anext(running)
        for path in ("/chat/run", "/chat/stream"):
            answer = await opened.client.post(path, json=asked)
            assert (answer.status_code, answer.json()["code"]) == (409, "session-busy"), path
    assert (await opened.client.post("/chat/run", json=asked)).status_code == 200


async def test_of_twenty_questions_at_once_each_is_answered_or_told_to_wait(opened: Opened) -> None:
    asked = {"message": VALVE, "session_id": str(uuid4())}
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await opened.client.post("/chat/run", json=asked)).status_code)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
    assert set(statuses) <= {200, 409}
    messages = (await opened.client.get(f"/session/{asked['session_id']}/history")).json()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * statuses.count(200)


@pytest.mark.own_index
async def test_the_book_of_a_session_stays_the_one_it_was_begun_with(opened: Opened, tmp_path: Path) -> None:
    other = write_book(tmp_path / "other", {"gears.md": "# Gears\n\nA gear has teeth that mesh with another gear.\n"})
    await ingested(opened.service.app, other, book_id="gears")
    begun = await opened.client.post("/chat/run", json={"message": VALVE, "book_id": BOOK})
    session = begun.json()["session_id"]
    moved = await opened.client.post("/chat/run", json={"message": VALVE, "book_id": "gears", "session_id": session})
    assert (moved.status_code, moved.json()["code"]) == (422, "validation")
    kept = await opened.client.post("/chat/run", json={"message": VALVE, "session_id": session})
    assert kept.json()["outcome"] == "answered"


async def test_a_book_that_may_not_be_seen_is_answered_like_one_that_is_not_there(locked: Opened) -> None:
    headers = await locked.key("another")
    hidden, absent = [
        await locked.client.post("/chat/run", json={"message": VALVE, "book_id": book_id}, headers=headers)
        for book_id in (BOOK, "nothing")
    ]
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.json()["detail"].replace(repr(BOOK), "'nothing'") == absent.json()["detail"]
    assert hidden.json()["advice"] == absent.json()["advice"]


async def test_a_request_that_fails_leaves_no_session_behind(opened: Opened) -> None:
    for more in ({"book_id": "nothing"}, {"engine": "agent"}, {"top_k": 11}, {"message": "x" * 1001}):
        answer = await opened.client.post("/chat/run", json={"message": VALVE, **more})
        assert answer.status_code in (404, 422), more
    assert await opened.service.app.threads.threads() == []


async def test_without_a_key_nobody_asks(locked: Opened) -> None:
    answer = await locked.client.post("/chat/run", json={"message": VALVE})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_used_up_rate_is_told_with_the_time_to_wait(locked: Opened) -> None:
    headers = await locked.key(rate=1)
    first, second = [await locked.client.get("/books", headers=headers) for _ in range(2)]
    assert (first.status_code, second.status_code) == (200, 429)
    assert second.json()["code"] == "rate-limited"
    assert 1 <= int(second.headers["retry-after"]) <= 60
    assert "ratelimit" in first.headers


async def test_a_model_that_fails_degrades_the_answer_and_not_the_service(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(refuses(401)) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        answer = await opened.client.post("/chat/run", json={"message": VALVE})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "answered")
    assert answer.json()["degraded"] == "unauthorized"


async def test_a_model_writes_the_answer_where_one_is_set_up(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(says(TRUE)) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        answer = await opened.client.post("/chat/run", json={"message": VALVE})
    assert answer.json()["response"].strip() == TRUE.strip()


@pytest.mark.parametrize("wanted", [False, True])
async def test_the_words_of_a_question_are_in_the_log_only_where_that_is_asked_for(
    tmp_path: Path, small_book: Path, caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    caplog.set_level(logging.INFO, "bookwise")
    async with http_service(settings_for(tmp_path / "data", log_questions=wanted), small_book) as opened:
        answer = await opened.client.post("/chat/run", json={"message": VALVE})
    assert answer.status_code == 200
    assert any("irrigation" in str(vars(record)) for record in caplog.records) is wanted


async def test_a_threshold_of_the_request_is_honoured(opened: Opened) -> None:
    strict = (await opened.client.post("/chat/run", json={"message": VALVE, "similarity_threshold": 1.0})).json()
    assert (strict["outcome"], strict["metrics"]["num_chunks"]) == ("refused", 0)


async def test_a_refusal_of_the_language_model_is_a_refusal_in_every_field(tmp_path: Path, small_book: Path) -> None:
    declines = "I couldn't find that information in the book"
    async with (
        scripted(says(declines), says(declines), says(declines)) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        response = (await opened.client.post("/chat/run", json={"message": VALVE})).json()
        streamed = await opened.client.post("/chat/stream", json={"message": VALVE})
        done = events_in(streamed.text)[-1].data
        completion = {"model": "bookwise", "messages": [{"role": "user", "content": VALVE}]}
        facts = (await opened.client.post("/v1/chat/completions", json=completion)).json()["bookwise"]
        thread = (await opened.client.get(f"/session/{response['session_id']}")).json()
    for answer in (response, done):
        assert (answer["outcome"], answer["reason"]) == ("refused", "not-in-the-book")
        assert (answer["should_answer"], answer["sources"]) == (False, [])
        assert (answer["confidence"], answer["confidence_level"]) == (0.0, "insufficient")
        assert answer["metrics"]["should_answer"], "the passages sufficed; the model declined all the same"
    assert (facts["outcome"], facts["confidence"]) == ("refused", "insufficient")
    assert thread["messages"][1]["confidence"] == 0.0


METADATA = {"user_id": "user123", "tags": ["ros2", "urdf"]}


async def test_metadata_of_the_first_request_is_kept_with_the_session(opened: Opened) -> None:
    first = await opened.client.post("/chat/run", json={"message": VALVE, "metadata": METADATA})
    session = first.json()["session_id"]
    assert (await opened.client.get(f"/session/{session}")).json()["metadata"] == METADATA
    for metadata in ({}, {"metadata": METADATA}):
        again = {"message": VALVE, "session_id": session, **metadata}
        assert (await opened.client.post("/chat/run", json=again)).status_code == 200
    changed = {"message": VALVE, "session_id": session, "metadata": {"user_id": "another"}}
    assert (await opened.client.post("/chat/run", json=changed)).status_code == 422


@pytest.mark.parametrize("metadata", [[], "tags", 7, {"note": "x" * 4_000}])
async def test_metadata_is_a_small_object(opened: Opened, metadata: object) -> None:
    refused = await opened.client.post("/chat/run", json={"message": VALVE, "metadata": metadata})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/metadata")


INSTALL = "How do I install the package on this page?"
IRRIGATION = "http://preview.example:3000/water/02-irrigation/?theme=dark#top"


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("http://preview.example:3000/water/01-moisture-sensors.html", "greenhouse-sensors"),
        (IRRIGATION, "greenhouse-irrigation"),
    ],
)
async def test_this_page_means_the_lesson_that_the_reader_has_open(opened: Opened, page: str, package: str) -> None:
    answer = (await opened.client.post("/chat/run", json={"message": INSTALL, "page_url": page})).json()
    assert answer["outcome"] == "answered"
    assert package in answer["response"]
    assert {source["page_title"] for source in answer["sources"]} == {answer["sources"][0]["page_title"]}
    thread = (await opened.client.get(f"/session/{answer['session_id']}")).json()
    assert thread["messages"][0]["content"] == INSTALL


@pytest.mark.parametrize(
    "message",
    ["What is a moisture sensor?", "What is a moisture sensor according to this page?"],
)
async def test_the_open_page_hides_nothing_of_the_book(opened: Opened, message: str) -> None:
    """Without `this page` it does not matter; with it, the book answers what the lesson does not."""
    answer = (await opened.client.post("/chat/run", json={"message": message, "page_url": IRRIGATION})).json()
    assert "is a probe that measures" in answer["response"]


async def test_a_page_that_is_no_lesson_is_ignored(opened: Opened) -> None:
    answer = await opened.client.post("/chat/run", json={"message": INSTALL, "page_url": "http://[::bad"})
    assert answer.status_code == 200


async def test_a_choice_is_answered_from_the_chosen_lesson(opened: Opened) -> None:
    asked = (await opened.client.post("/chat/run", json={"message": "How do I install it?"})).json()
    assert asked["reason"] == "ambiguous"
    stored = (await opened.client.get(f"/session/{asked['session_id']}")).json()["messages"][-1]["details"]["nearest"]
    assert [one["parent_doc_id"] for one in stored] == [one["parent_doc_id"] for one in asked["nearest"]]
    for place in asked["nearest"]:
        body = {"message": "How do I install it?", "parent_doc_id": place["parent_doc_id"]}
        for session in ({}, {"session_id": asked["session_id"]}):
            answer = (await opened.client.post("/chat/run", json=body | session)).json()
            assert answer["outcome"] == "answered"
            assert {source["page_title"] for source in answer["sources"]} == {place["page_title"]}
            assert "nstall" in answer["sources"][0]["section"]


async def test_a_chosen_lesson_must_be_in_the_book(opened: Opened) -> None:
    refused = await opened.client.post("/chat/run", json={"message": VALVE, "parent_doc_id": "nowhere"})
    assert (refused.status_code, refused.json()["code"]) == (404, "not-found")
