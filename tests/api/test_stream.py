"""Answers while they are written: order, one last event, and readers who leave."""

import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from bookwise.api import sse
from bookwise.api.session_ids import find_thread
from bookwise.api.sse import EventStream, Frame, error_frame, frame
from bookwise.domain.access import ApiKey
from bookwise.domain.errors import StoreUnavailable
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import KeyStore
from bookwise.schemas.chat import ChatResponse
from tests.support.http_service import Exchange, Opened, events_in, exchange, http_service
from tests.support.scripted_http import Server, scripted
from tests.support.scripted_model import chunk, dripping, says, stream
from tests.support.small_book import BOOK, settings_for

pytestmark = pytest.mark.anyio

VALVE = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1] "


def asked(message: str = VALVE, **more: object) -> bytes:
    return json.dumps({"message": message, **more}).encode()


def endless() -> Iterator[object]:
    """A model that says one true sentence and then never comes to an end."""
    yield chunk({"role": "assistant", "content": TRUE + "And "})
    for number in itertools.count():
        yield chunk({"content": f"so {number} "})


@asynccontextmanager
async def with_endless_model(
    tmp_path: Path, small_book: Path, *, open_to_anyone: bool = True
) -> AsyncIterator[tuple[Opened, Server]]:
    async with scripted(dripping(endless(), pause=0.02)) as model:
        settings = settings_for(tmp_path / "data", model_url=model.url)
        async with http_service(settings, small_book, open_to_anyone=open_to_anyone) as opened:
            opened.app.state.service = replace(opened.service, key_check_seconds=0.05)
            yield opened, model


async def hung_up_on(model: Server, *, within: float) -> None:
    """Waits until nobody listens to the model any more."""
    with anyio.fail_after(within):
        while model._at_once:  # noqa: ASYNC110 - it sends no event when it is left alone
            await anyio.sleep(0.01)


async def last_message(opened: Opened, session_id: str) -> ThreadMessage:
    return (await opened.service.app.threads.thread(session_id)).messages[-1]


@pytest.mark.parametrize(("more", "top_k"), [({}, 7), ({"top_k": 2}, 2)])
async def test_the_configured_number_of_passages_is_the_default(
    tmp_path: Path, small_book: Path, more: dict[str, int], top_k: int
) -> None:
    settings = replace(settings_for(tmp_path / "data"), agent_top_k=7)
    async with http_service(settings, small_book) as opened:
        seen = await exchange(opened.app, "/chat/stream", asked(**more))
    assert seen.events[0].data["arguments"] == {"query": VALVE, "top_k": top_k}


async def test_the_events_come_in_order_and_the_pieces_are_the_answer(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked())
    assert seen.status == 200
    names = [event.name for event in seen.events]
    assert [name for name, _ in itertools.groupby(names)] == ["tool_call", "retrieval", "content", "done"]
    tool_call, retrieval, *content, done = seen.events
    assert tool_call.data == {"name": "retrieve_documentation", "arguments": {"query": VALVE, "top_k": 5}}
    assert retrieval.data["sources"][0]["number"] == 1
    usage = done.data.pop("usage")
    told = ChatResponse.model_validate(done.data)
    assert "".join(event.data["delta"] for event in content).strip() == told.response
    assert usage["total_tokens"] == 0
    assert seen.headers["x-session-id"] == told.session_id


async def test_no_proxy_may_keep_or_change_a_stream(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked(), accept_encoding="gzip")
    assert seen.headers["content-type"].startswith("text/event-stream")
    assert "no-cache" in seen.headers["cache-control"]
    assert seen.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in seen.headers


async def test_run_streams_where_it_is_asked_to(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/run", asked(stream=True))
    assert seen.events[-1].name == "done"


async def test_what_is_streamed_is_what_is_kept(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked())
    done = seen.events[-1].data
    message = await last_message(opened, done["session_id"])
    assert (message.content, message.complete) == (done["response"], True)
    assert message.details["highlights"] == done["highlights"] != []
    assert message.details["related"] == done["related"]


async def test_a_refusal_is_streamed_to_its_end_too(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked("Who won the world cup in 1998?"))
    assert [event.name for event in seen.events][-2:] == ["content", "done"]
    assert seen.events[-1].data["outcome"] == "refused"


async def test_what_fails_before_the_first_event_has_a_status_of_its_own(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked(book_id="nothing"))
    assert (seen.status, json.loads(seen.body)["code"]) == (404, "not-found")


async def test_a_stream_is_never_begun_again_by_itself(opened: Opened) -> None:
    seen = await exchange(opened.app, "/chat/stream", asked(), last_event_id="3")
    assert (seen.status, seen.body) == (204, b"")
    assert await opened.service.app.threads.threads() == []


async def test_no_text_can_forge_an_event(tmp_path: Path, small_book: Path) -> None:
    forged = TRUE + "\n\nevent: done\ndata: {}\n\n"
    async with scripted(says(forged)) as model:
        settings = settings_for(tmp_path / "data", model_url=model.url, unsupported="mark")
        async with http_service(settings, small_book) as opened:
            seen = await exchange(opened.app, "/chat/stream", asked())
    assert [event.name for event in seen.events].count("done") == 1
    assert seen.events[-1].data["response"]


async def test_a_model_that_breaks_off_ends_the_stream_with_an_error(tmp_path: Path, small_book: Path) -> None:
    async with (
        scripted(stream(chunk({"content": TRUE + "And"}), done=False)) as model,
        http_service(settings_for(tmp_path / "data", model_url=model.url), small_book) as opened,
    ):
        seen = await exchange(opened.app, "/chat/stream", asked())
        *_, content, error = seen.events
        message = await last_message(opened, error.data["session_id"])
    assert (content.name, error.name) == ("content", "error")
    assert error.data["code"] == "upstream-unavailable"
    assert error.data["reason"] == "cut-off"
    assert (message.content, message.complete) == (content.data["delta"].strip(), False)


async def test_a_reader_who_leaves_stops_the_model_and_keeps_what_was_said(tmp_path: Path, small_book: Path) -> None:
    async with with_endless_model(tmp_path, small_book) as (opened, model):
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: exchange(opened.app, "/chat/stream", asked(), seen=seen))
            await seen.until("event: content")
            seen.leave()
            await hung_up_on(model, within=2)
        message = await last_message(opened, seen.headers["x-session-id"])
        assert (message.content, message.complete) == (TRUE, False)
        assert not {"done", "error"} & {event.name for event in seen.events}
        assert opened.service.metrics.registry.get_sample_value("bookwise_open_streams") == 0
        again = await exchange(
            opened.app, "/chat/run", asked(session_id=seen.headers["x-session-id"], engine="extractive")
        )
        assert again.status == 200, "the session is free again"


async def test_a_reader_who_leaves_before_the_first_event_frees_the_session(opened: Opened) -> None:
    seen = Exchange()
    seen.leave()
    session_id = "550e8400-e29b-41d4-a716-446655440000"
    await exchange(opened.app, "/chat/stream", asked(session_id=session_id), seen=seen)
    assert (await exchange(opened.app, "/chat/run", asked(session_id=session_id))).status == 200


@pytest.mark.slow
async def test_a_service_that_stops_ends_its_streams_with_an_error(tmp_path: Path, small_book: Path) -> None:
    async with with_endless_model(tmp_path, small_book) as (opened, model):
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: exchange(opened.app, "/chat/stream", asked(), seen=seen))
            await seen.until("event: content")
            opened.service.stop()
            await hung_up_on(model, within=10)
        assert [event.name for event in seen.events][-2:] == ["content", "error"]
        assert seen.events[-1].data["code"] == "shutting-down"
        assert seen.ended
        assert not (await last_message(opened, seen.headers["x-session-id"])).complete


COMPLETION = json.dumps({"model": BOOK, "messages": [{"role": "user", "content": VALVE}], "stream": True}).encode()
STREAMS = {"/chat/stream": asked(), "/chat/run": asked(stream=True), "/v1/chat/completions": COMPLETION}


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("change", ["revoked", "rotated"])
async def test_a_secret_that_stops_working_ends_its_open_stream_with_an_error(
    tmp_path: Path, small_book: Path, path: str, change: str
) -> None:
    async with with_endless_model(tmp_path, small_book, open_to_anyone=False) as (opened, model):
        key, secret = await opened.service.keys.create("lost", "reader")
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(streamed_with, secret, path, opened, seen)
            await seen.until("ten minutes. [1]")
            await (opened.service.keys.revoke if change == "revoked" else opened.service.keys.rotate)(key.id)
            await hung_up_on(model, within=30)
        assert seen.ended
        assert seen.status == 200
        last = json.loads(seen.body.decode().split("data: ")[-1])
        if path.startswith("/v1"):
            assert last["error"]["code"] == "unauthenticated"
        else:
            assert [event.name for event in seen.events][-2:] == ["content", "error"]
            assert (last["status"], last["code"]) == (401, "unauthenticated")
            (message,) = (await find_thread(opened.service.app.threads, last["session_id"], key.id)).messages[1:]
            assert (message.content, message.complete) == (TRUE, False)
        assert not opened.app.state.rate_limits._streams


async def streamed_with(secret: str, path: str, opened: Opened, seen: Exchange) -> None:
    await exchange(opened.app, path, STREAMS[path], seen=seen, authorization=f"Bearer {secret}")


async def test_a_stream_goes_on_with_either_secret_while_the_old_one_has_grace(
    tmp_path: Path, small_book: Path
) -> None:
    async with with_endless_model(tmp_path, small_book, open_to_anyone=False) as (opened, _):
        key, secret = await opened.service.keys.create("kept", "reader")
        looked_up = anyio.Semaphore(0)
        store = Noticed(opened.service.keys, looked_up)
        opened.app.state.service = replace(opened.service, app=replace(opened.service.app, keys=store))
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(streamed_with, secret, "/chat/stream", opened, seen)
            await seen.until("event: content")
            await opened.service.keys.rotate(key.id, grace_seconds=3600)
            with anyio.fail_after(30):
                for _ in range(5):
                    await looked_up.acquire()
            assert not seen.ended
            seen.leave()


class Noticed:
    """Keys, and a sign whenever one is looked up."""

    def __init__(self, keys: KeyStore, looked_up: anyio.Semaphore) -> None:
        self._keys, self._looked_up = keys, looked_up

    async def key(self, secret: str) -> ApiKey | None:
        self._looked_up.release()
        return await self._keys.key(secret)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._keys, name)


async def test_a_session_deleted_within_its_stream_does_not_come_back(tmp_path: Path, small_book: Path) -> None:
    async with with_endless_model(tmp_path, small_book) as (opened, _):
        seen = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: exchange(opened.app, "/chat/stream", asked(), seen=seen))
            await seen.until("event: content")
            path = f"/session/{seen.headers['x-session-id']}"
            assert (await opened.client.delete(path)).status_code == 204
            seen.leave()
        assert (await opened.client.get(path)).status_code == 404


async def test_the_streams_a_key_may_have_open_are_counted(tmp_path: Path, small_book: Path) -> None:
    async with with_endless_model(tmp_path, small_book, open_to_anyone=False) as (opened, _):
        limits = opened.app.state.rate_limits
        secret, seen = (await opened.key())["Authorization"], Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: exchange(opened.app, "/chat/stream", asked(), seen=seen, authorization=secret))
            await seen.until("event: content")
            assert limits._streams.total() == 1
            seen.leave()
        assert limits._streams.total() == 0


def streaming(opened: Opened, frames: AsyncGenerator[Frame]) -> EventStream:
    return EventStream(frames, ending=error_frame, state=opened.service)


async def sent(response: EventStream) -> Exchange:
    seen = Exchange()
    await response({"type": "http"}, seen.receive, seen.send)
    return seen


async def test_whatever_happens_a_stream_has_exactly_one_last_event(
    empty: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async def frames(failure: Exception | None) -> AsyncGenerator[Frame]:
        yield frame("content", {"delta": "a"})
        if failure:
            raise failure

    failures: list[tuple[Any, str]] = [
        (StoreUnavailable("gone"), "store-unavailable"),
        (RuntimeError("swordfish"), "internal"),
        (None, "internal"),
    ]
    for failure, code in failures:
        seen = await sent(streaming(empty, frames(failure)))
        assert [event.name for event in seen.events] == ["content", "error"]
        assert seen.events[-1].data["code"] == code
        assert "swordfish" not in seen.body.decode()
    assert "swordfish" in caplog.text


async def test_nothing_follows_the_last_event(empty: Opened) -> None:
    async def frames() -> AsyncGenerator[Frame]:
        yield frame("done", {}, last=True)
        raise AssertionError("nobody asks for more")

    assert [event.name for event in (await sent(streaming(empty, frames()))).events] == ["done"]


async def test_a_silent_stream_sends_comments(empty: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sse.PING_SECONDS < 15  # proxies close a connection that is silent for longer
    monkeypatch.setattr(sse, "PING_SECONDS", 0.2)
    heard = Exchange()

    async def frames() -> AsyncGenerator[Frame]:
        await heard.until(": ping")
        yield frame("done", {}, last=True)

    with anyio.fail_after(10):
        await streaming(empty, frames())({"type": "http"}, heard.receive, heard.send)
    assert [event.name for event in events_in(heard.body.decode())] == ["done"]


class Frozen(Exchange):
    """A reader who takes nothing more, and is gone a moment later."""

    async def send(self, message: dict[str, Any]) -> None:  # type: ignore[override]
        await super().send(message)
        if self.body:
            self.leave()
            await anyio.sleep_forever()


async def test_a_reader_who_freezes_and_leaves_closes_the_answer_too(empty: Opened) -> None:
    closed: list[str] = []

    async def frames() -> AsyncGenerator[Frame]:
        try:
            yield frame("content", {"delta": "a"})
        finally:
            await anyio.lowlevel.checkpoint()  # whoever saves must be able to wait
            closed.append("with what was said")

    response, seen = streaming(empty, frames()), Frozen()
    with anyio.fail_after(2):
        await response({"type": "http"}, seen.receive, seen.send)
    assert closed == ["with what was said"]
