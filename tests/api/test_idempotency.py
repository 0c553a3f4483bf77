"""Requests that are sent twice and done once."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from bookwise.adapters.sql.database import open_database
from bookwise.adapters.sql.responses import SqlResponses
from bookwise.domain.errors import StoreUnavailable
from bookwise.ports import KeptResponse
from bookwise.wiring import database_url, open_app
from tests.support.apps import ingested, write_book
from tests.support.databases import ask
from tests.support.http_service import Exchange, Opened, exchange, http_service
from tests.support.scripted_http import Reply, scripted
from tests.support.scripted_model import chunk, dripping, says, stream
from tests.support.small_book import BOOK, LESSONS, settings_for

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1] "
ASKED = {"message": VALVE}
KEY = {"Idempotency-Key": '"8e03978e"'}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def quick_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the small book on the quick embedder; copy it, do not write to it."""
    root = tmp_path_factory.mktemp("quick-book")

    async def ingest_once() -> None:
        async with open_app(settings_for(root / "data", embedder="hashing")) as app:
            await ingested(app, write_book(root / "book", LESSONS), book_id=BOOK)

    anyio.run(ingest_once)
    return root / "data"


@pytest.fixture
async def opened(tmp_path: Path, quick_book: Path) -> AsyncIterator[Opened]:
    async with http_service(settings_for(tmp_path / "data", embedder="hashing"), quick_book) as opened:
        yield opened


@pytest.fixture
async def locked(tmp_path: Path, quick_book: Path) -> AsyncIterator[Opened]:
    settings = settings_for(tmp_path / "data", embedder="hashing")
    async with http_service(settings, quick_book, open_to_anyone=False) as opened:
        yield opened


async def post(opened: Opened, path: str = "/chat/run", body: Any = None, **headers: str) -> httpx2.Response:
    return await opened.client.post(path, json=ASKED if body is None else body, headers={**KEY, **headers})


def is_replayed(answer: httpx2.Response) -> bool:
    return answer.headers.get("Idempotent-Replayed") == "true"


async def questions(opened: Opened, owner: str = "") -> int:
    """How many questions of the owner were asked."""
    threads = opened.service.app.threads
    found = [await threads.history(thread.id, owner=owner) for thread in await threads.threads(owner=owner)]
    return sum(message.role == "user" for messages in found for message in messages)


async def test_a_request_sent_again_gets_the_same_response_and_is_not_done_again(opened: Opened) -> None:
    first = await post(opened)
    again = [await post(opened) for _ in range(3)]
    assert (first.status_code, is_replayed(first)) == (200, False)
    for answer in again:
        assert (answer.status_code, answer.content) == (200, first.content)
        assert is_replayed(answer)
        assert answer.headers["content-type"] == first.headers["content-type"]
        assert answer.headers["x-request-id"] != first.headers["x-request-id"]
    assert await questions(opened) == 1


async def test_without_a_key_or_with_another_one_a_request_is_done_anew(opened: Opened) -> None:
    for headers in ({}, {}, {"Idempotency-Key": '"a"'}, {"Idempotency-Key": '"b"'}):
        answer = await opened.client.post("/chat/run", json=ASKED, headers=headers)
        assert (answer.status_code, is_replayed(answer)) == (200, False)
    assert await questions(opened) == 4


async def test_twenty_requests_at_once_with_one_key_ask_one_question(opened: Opened) -> None:
    answers: list[httpx2.Response] = []

    async def send() -> None:
        answers.append(await post(opened))

    async with anyio.create_task_group() as senders:
        for _ in range(20):
            senders.start_soon(send)
    assert await questions(opened) == 1
    assert Counter(answer.status_code for answer in answers).keys() <= {200, 409}
    answered = [answer for answer in answers if answer.status_code == 200]
    assert [is_replayed(answer) for answer in answered].count(False) == 1
    assert len({answer.content for answer in answered}) == 1
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] == "idempotency-in-progress"
            assert int(answer.headers["Retry-After"]) >= 1
    assert (await post(opened)).content == answered[0].content


async def test_twenty_triggers_at_once_with_one_key_begin_one_job(opened: Opened) -> None:
    app, asked = opened.service.app, {"book_id": BOOK}
    (before,) = await app.jobs.jobs()
    answers: list[httpx2.Response] = []

    async def trigger() -> None:
        answers.append(await post(opened, "/ingestion/trigger", asked))

    async with anyio.create_task_group() as senders:
        for _ in range(20):
            senders.start_soon(trigger)
    with anyio.fail_after(30):
        while opened.service.runner.is_busy:  # noqa: ASYNC110 - it sends no event when it is done
            await anyio.sleep(0.01)
    again = await post(opened, "/ingestion/trigger", asked)
    (job, known) = await app.jobs.jobs()
    assert known.job_id == before.job_id
    begun = [answer for answer in answers if answer.status_code == 202]
    assert {answer.json()["job_id"] for answer in [*begun, again]} == {job.job_id}
    assert (again.status_code, is_replayed(again)) == (202, True)
    assert again.headers["Location"] == f"/ingestion/status/{job.job_id}"
    assert {answer.json().get("code") for answer in answers if answer.status_code != 202} <= {"idempotency-in-progress"}


@pytest.mark.parametrize(("path", "more"), [("/chat/stream", {}), ("/chat/run", {"stream": True})])
async def test_a_stream_that_came_to_its_end_is_sent_again_byte_for_byte(
    opened: Opened, path: str, more: dict[str, Any]
) -> None:
    first, again = [await post(opened, path, {**ASKED, **more}) for _ in range(2)]
    assert b"\n\nevent: done\n" in first.content
    assert again.content == first.content
    assert (is_replayed(first), is_replayed(again)) == (False, True)
    for name in ("content-type", "x-session-id", "cache-control", "x-accel-buffering"):
        assert again.headers[name] == first.headers[name]
    assert await questions(opened) == 1


def endless(count: int = 100_000) -> Reply:
    said = (chunk({"content": f"so {number} "}) for number in range(count))
    return dripping((chunk({"role": "assistant", "content": f"{TRUE} And "}), *said), pause=0.02)


@asynccontextmanager
async def written_by(tmp_path: Path, small_book: Path, *replies: Reply) -> AsyncIterator[Opened]:
    async with (
        scripted(*replies) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        yield opened


async def test_while_a_stream_runs_its_key_is_taken_and_a_reader_who_leaves_frees_it(
    tmp_path: Path, small_book: Path
) -> None:
    body = json.dumps(ASKED).encode()
    async with written_by(tmp_path, small_book, endless(), says(TRUE)) as opened:
        seen = Exchange()
        async with anyio.create_task_group() as beside:

            async def read() -> None:
                await exchange(opened.app, "/chat/stream", body, seen=seen, idempotency_key="8e03978e")

            beside.start_soon(read)
            await seen.until("event: content")
            meanwhile = await opened.client.post("/chat/stream", content=body, headers={**KEY, **JSON})
            assert (meanwhile.status_code, meanwhile.json()["code"]) == (409, "idempotency-in-progress")
            seen.leave()
        after = await opened.client.post("/chat/stream", content=body, headers={**KEY, **JSON})
        assert after.status_code == 200
        assert not is_replayed(after)
        assert b"event: done" in after.content


def broken() -> Reply:
    """A model that is cut off after its first sentence was said."""
    return stream(chunk({"role": "assistant", "content": TRUE}), chunk({"content": "And then"}), done=False)


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream"])
async def test_an_answer_that_broke_off_is_not_kept(tmp_path: Path, small_book: Path, path: str) -> None:
    async with written_by(tmp_path, small_book, broken(), says(TRUE)) as opened:
        cut_off = await post(opened, path)
        assert "interrupted" in cut_off.text or "event: error" in cut_off.text
        whole = await post(opened, path)
        assert not is_replayed(whole)
        assert "event: error" not in whole.text
        assert '"answered"' in whole.text
        assert is_replayed(await post(opened, path))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/chat/run", b'{"message": "What is a moisture sensor?"}'),
        ("/chat/run", b' {"message": "When does the irrigation valve open?"}'),
        ("/chat/stream", b'{"message": "When does the irrigation valve open?"}'),
    ],
)
async def test_a_key_is_not_for_another_request(opened: Opened, path: str, content: bytes) -> None:
    first = b'{"message": "When does the irrigation valve open?"}'
    assert (await opened.client.post("/chat/run", content=first, headers={**KEY, **JSON})).status_code == 200
    other = await opened.client.post(path, content=content, headers={**KEY, **JSON})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")
    assert is_replayed(await opened.client.post("/chat/run", content=first, headers={**KEY, **JSON}))


async def test_a_key_is_the_same_with_quotes_and_without(opened: Opened) -> None:
    spellings = ['"a-1/b:c=d"', "a-1/b:c=d", '  "a-1/b:c=d" ']
    answers = [await post(opened, **{"Idempotency-Key": spelling}) for spelling in spellings]
    assert [is_replayed(answer) for answer in answers] == [False, True, True]


async def test_quotes_within_a_key_are_escaped(opened: Opened) -> None:
    first = await post(opened, **{"Idempotency-Key": r'"say \"hi\" \\ "'})
    assert first.status_code == 200
    assert is_replayed(await post(opened, **{"Idempotency-Key": r'"say \"hi\" \\ "'}))
    assert not is_replayed(await post(opened, **{"Idempotency-Key": r'"say hi \\ "'}))


@pytest.mark.parametrize(
    "key",
    ["", '""', '"', '"open', 'a"b', r'"a\b"', '"a" "b"', "a b", "a,b", '"tab\t"', f'"{"x" * 256}"', "x" * 256],
)
async def test_a_key_that_is_none_is_malformed_and_nothing_is_done(opened: Opened, key: str) -> None:
    answer = await post(opened, **{"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert "Idempotency-Key" in answer.json()["detail"]
    assert await questions(opened) == 0


async def test_two_keys_are_none_and_neither_is_one_that_is_not_ascii(opened: Opened) -> None:
    for keys in ([(b"idempotency-key", b"a"), (b"idempotency-key", b"b")], [(b"idempotency-key", "é".encode())]):
        answer = await opened.client.post("/chat/run", json=ASKED, headers=keys)
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert await questions(opened) == 0


async def test_a_key_may_be_as_long_as_it_may_be(opened: Opened) -> None:
    longest = {"Idempotency-Key": '"' + r"\"" * 255 + '"'}
    assert [is_replayed(await post(opened, **longest)) for _ in range(2)] == [False, True]


async def test_the_same_key_of_somebody_else_is_another_key(locked: Opened) -> None:
    mine, theirs = await locked.key(), await locked.key()
    first = await post(locked, **mine)
    second = await post(locked, body={"message": "What is a moisture sensor?"}, **theirs)
    assert second.status_code == 200
    assert not is_replayed(second)
    assert (await post(locked, **mine)).content == first.content
    assert first.json()["session_id"] not in second.text


async def test_who_has_no_key_to_the_service_learns_nothing_of_what_is_kept(locked: Opened) -> None:
    await post(locked, **await locked.key())
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Idempotency-Key": '"'}):
        answer = await post(locked, **headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_a_response_sent_again_counts_like_any_other(locked: Opened) -> None:
    key = await locked.key(rate=3)
    left = [(await post(locked, **key)).headers["RateLimit"].split(";")[1] for _ in range(3)]
    assert left == ["r=2", "r=1", "r=0"]
    refused = await post(locked, **key)
    assert (refused.status_code, is_replayed(refused)) == (429, False)


async def test_what_failed_is_not_kept_and_its_key_is_free(opened: Opened) -> None:
    absent = await post(opened, body={**ASKED, "book_id": "absent"})
    invalid = await post(opened, body={**ASKED, "top_k": 0})
    broken_json = await opened.client.post("/chat/run", content=b"{", headers={**KEY, **JSON})
    assert [absent.status_code, invalid.status_code, broken_json.status_code] == [404, 422, 400]
    assert (await post(opened)).status_code == 200
    assert is_replayed(await post(opened))


async def test_a_refusal_is_an_answer_and_is_kept(opened: Opened) -> None:
    outside = {"message": "Who won the football world cup in 1998?"}
    first, again = [await post(opened, body=outside) for _ in range(2)]
    assert first.json()["outcome"] == "refused"
    assert again.content == first.content


async def test_a_reconnecting_reader_is_not_taken_for_the_request_itself(opened: Opened) -> None:
    assert (await post(opened, "/chat/stream", **{"Last-Event-ID": "1"})).status_code == 204
    assert b"event: done" in (await post(opened, "/chat/stream")).content


class Forgetful:
    """A store that breaks down between the claim and the response."""

    async def claim(self, owner: str, key: str, fingerprint: str, *, lease_seconds: float) -> KeptResponse | None:
        return None

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        raise StoreUnavailable("gone")

    async def release(self, owner: str, key: str) -> None:
        raise StoreUnavailable("gone")

    async def forget(self, *, before: datetime) -> int:
        return 0


async def test_a_response_that_cannot_be_kept_is_sent_all_the_same(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    opened.app.state.service = replace(opened.service, app=replace(opened.service.app, responses=Forgetful()))
    assert (await post(opened)).status_code == 200
    assert (await post(opened, body={**ASKED, "book_id": "absent"})).status_code == 404
    assert [record.message for record in caplog.records].count("response.not-stored") == 2


async def test_what_is_older_than_a_day_is_forgotten_while_the_service_runs(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data", embedder="hashing")
    settings.data_dir.mkdir()
    now = datetime.now(UTC)
    async with open_database(database_url(settings)) as database:
        for hours, key in ((25, "old"), (23, "new")):
            store = SqlResponses(database, clock=lambda hours=hours: now - timedelta(hours=hours))  # type: ignore[misc]
            await store.claim("", key, "a", lease_seconds=1)
            await store.keep("", key, KeptResponse(status=200, headers={}, body=b""))
        async with http_service(settings):
            with anyio.fail_after(30):
                while await ask(database, "SELECT count(*) FROM kept_responses") == 2:  # noqa: ASYNC110 - as above
                    await anyio.sleep(0.01)
        assert await ask(database, "SELECT idempotency_key FROM kept_responses") == "new"
