"""AnswerEvent* → server-sent events. A stream ends with exactly one final event, or when the reader disconnects."""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, NamedTuple

import anyio
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bookwise.answering.retrieval_tool import TOOL_NAME
from bookwise.api.auth.access import is_still_authorized
from bookwise.api.problems import (
    INTERNAL,
    SHUTTING_DOWN,
    HttpProblem,
    Problem,
    model_problem,
    problem_of,
    problem_of_exception,
)
from bookwise.api.rendering.answers import with_html
from bookwise.api.rendering.stream import StreamRenderer
from bookwise.api.state import ServiceState
from bookwise.domain.answers import (
    AnswerEvent,
    AnswerFinished,
    Evidence,
    EvidenceFound,
    Interrupted,
    SearchStarted,
    StateChanged,
    TextDelta,
    Usage,
)
from bookwise.domain.errors import BookwiseError
from bookwise.schemas.chat import ChatResponse, ConfidenceMetrics, Source
from bookwise.schemas.wire import Shape

PING = b": ping\n\n"
PING_SECONDS = 10.0  #: longest time without an event
SEND_SECONDS = 30.0  #: a reader who accepts no data for this long counts as disconnected
GRACE_SECONDS = 3.0  #: how long answers may continue when the service stops

REVOKED = Problem(
    slug="unauthenticated",
    detail="This API key was revoked. The answer ends here and is stored as incomplete.",
    advice="Ask the operator for a new key.",
)
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

logger = logging.getLogger("bookwise.api")


class Frame(NamedTuple):
    """One event, encoded."""

    data: bytes
    last: bool = False  #: ends the stream


def frame(event: str, data: Mapping[str, Any], *, last: bool = False) -> Frame:
    """One named event. JSON contains no raw line breaks, so no text can inject an event."""
    return Frame(f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="replace"), last)


class EventStream(Response):
    """Sends frames as they are produced.

    An error before the first frame becomes an ordinary problem response; a later error becomes the last event. When the
    reader disconnects, the frames are closed, which also cancels the call of the language model.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[Frame],
        *,
        ending: Callable[[Problem], Frame],
        state: ServiceState,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({**HEADERS, **(headers or {})})
        self._frames, self._ending, self._state = frames, ending, state
        self._is_started = self._is_ended = self._is_disconnected = False
        self._cut_problem = INTERNAL  #: sent when the frames are closed before their end
        self._reading = anyio.CancelScope()
        self._lock = anyio.Lock()
        self._last_sent = anyio.current_time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem: Problem | None = None
        with self._state.metrics.open_streams.track_inprogress():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._wait_for_disconnect, receive)
                tasks.start_soon(self._supervise, HTTPConnection(scope), send)
                problem = await self._send_frames(send)
                if problem is not None and self._is_started:
                    await self._write(self._ending(problem).data, send)
                tasks.cancel_scope.cancel()
        if problem is not None and not self._is_started:
            raise HttpProblem(problem)
        if not self._is_disconnected:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_frames(self, send: Send) -> Problem | None:
        """The problem that ended the stream; None after a proper end or a disconnect."""
        problem: Problem | None = INTERNAL
        with self._reading:
            try:
                async for data, last in self._frames:
                    self._is_ended = last
                    await self._write(data, send)
                    del data  # free it: the next frame may take long
                    if last:
                        break
            except BookwiseError as error:
                problem = problem_of(error)
            except Exception as error:
                logger.exception("stream.failed")
                problem = problem_of_exception(error)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._frames.aclose()
        if self._is_ended or self._is_disconnected:
            return None
        return self._cut_problem if self._reading.cancelled_caught else problem

    async def _write(self, data: bytes, send: Send) -> None:
        async with self._lock:
            with anyio.move_on_after(SEND_SECONDS) as timeout:
                try:
                    if not self._is_started:
                        self._is_started = True
                        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                except OSError:
                    self._disconnect()
            if timeout.cancelled_caught:
                self._disconnect()
            self._last_sent = anyio.current_time()

    def _disconnect(self) -> None:
        self._is_disconnected = True
        self._reading.cancel()

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._disconnect()

    async def _supervise(self, connection: HTTPConnection, send: Send) -> None:
        """Sends pings, and ends the stream when its key is revoked or the service stops. One task does all three:
        thousands of streams can be open at once."""
        state = self._state
        rings, key_checked = state.alarm.rings, anyio.current_time()
        while not state.stopping.is_set():
            next_check = key_checked + state.key_check_seconds
            with anyio.move_on_at(min(next_check, self._last_sent + PING_SECONDS)):
                await state.alarm.wait(after=rings)
            if state.alarm.rings > rings or anyio.current_time() >= next_check:
                rings, key_checked = state.alarm.rings, anyio.current_time()
                if not await is_still_authorized(connection, state):
                    return self._cut(REVOKED)
            if anyio.current_time() >= self._last_sent + PING_SECONDS:
                await self._write(PING, send)
        await anyio.sleep(GRACE_SECONDS)
        self._cut(SHUTTING_DOWN)

    def _cut(self, problem: Problem) -> None:
        self._cut_problem = problem
        self._reading.cancel()


class StreamUsage(Shape):
    """Tokens used by the language model; 0 without one."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    calls: int

    @classmethod
    def of(cls, usage: Usage) -> "StreamUsage":
        return cls(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.total_tokens,
            calls=usage.calls,
        )


async def answer_frames(
    events: AsyncGenerator[AnswerEvent], session_id: str, *, answer_id: str, html: bool = False
) -> AsyncGenerator[Frame]:
    """The events of one answer as frames; internal events are left out. `html`: with the answer as HTML."""
    renderer = StreamRenderer() if html else None
    async with aclosing(events):
        async for event in events:
            if encoded := frame_of(event, session_id, answer_id, renderer):
                yield encoded


def frame_of(
    event: AnswerEvent, session_id: str, answer_id: str, renderer: StreamRenderer | None = None
) -> Frame | None:
    match event:
        case SearchStarted():
            return frame("tool_call", {"name": TOOL_NAME, "arguments": {"query": event.query, "top_k": event.top_k}})
        case EvidenceFound():
            return frame("retrieval", _retrieval(event.evidence))
        case TextDelta():
            return frame("content", {"delta": event.text, **_html_delta(event, renderer)})
        case AnswerFinished(answer=Interrupted() as answer):
            problem = model_problem(answer.reason, "The answer was cut off. The text so far is stored as incomplete.")
            return error_frame(problem, session_id=session_id)
        case AnswerFinished():
            response = ChatResponse.of(event.answer, session_id=session_id, answer_id=answer_id)
            shown = with_html(response) if renderer else response
            usage = StreamUsage.of(event.answer.meta.usage).model_dump()
            return frame("done", {**shown.model_dump(mode="json"), "usage": usage}, last=True)
        case StateChanged():
            return None


def _html_delta(event: TextDelta, renderer: StreamRenderer | None) -> dict[str, Any]:
    return asdict(renderer.add(event.text, event.highlights)) if renderer else {}


def _retrieval(evidence: Evidence) -> dict[str, Any]:
    return {
        "query": evidence.question,
        "sources": [Source.of(passage).model_dump(mode="json") for passage in evidence.passages],
        "metrics": ConfidenceMetrics.of(evidence.confidence).model_dump(mode="json"),
    }


def error_frame(problem: Problem, **more: str) -> Frame:
    return frame("error", {**problem.body(), **more}, last=True)
