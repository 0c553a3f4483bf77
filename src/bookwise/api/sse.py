"""AnswerEvent* → server-sent events, with exactly one last event, for as long as the reader stays."""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

import anyio
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bookwise.answering.retrieval_tool import TOOL_NAME
from bookwise.api.auth.access import still_welcome
from bookwise.api.problems import INTERNAL, SHUTTING_DOWN, HttpProblem, Problem, model_problem, problem_of
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
PING_SECONDS = 10.0  #: of silence
SEND_SECONDS = 30.0  #: a reader who takes nothing for so long is gone
GRACE_SECONDS = 3.0  #: an answer may go on for so long when the service is being stopped

REVOKED = Problem(
    slug="unauthenticated",
    detail="This API key does not work any more; the answer ends here and is kept as incomplete.",
    advice="Ask the operator for another key.",
)
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

logger = logging.getLogger("bookwise.api")


class Frame(NamedTuple):
    """One event on the wire."""

    data: bytes
    last: bool = False  #: nothing follows it


def frame(event: str, data: Mapping[str, Any], *, last: bool = False) -> Frame:
    """One named event. JSON has no raw line breaks, so no text can forge an event."""
    return Frame(f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="replace"), last)


class EventStream(Response):
    """Sends frames as they come. What fails before the first one is an ordinary error with its own status;
    later it is the last event. A reader who leaves closes the frames, and with them the model's call."""

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[Frame],
        *,
        ending: Callable[[Problem], Frame],
        service: ServiceState,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({**HEADERS, **(headers or {})})
        self._frames, self._ending, self._service = frames, ending, service
        self._started = self._ended = self._gone = False
        self._why_cut = INTERNAL  #: told where the frames were closed before their end
        self._reading = anyio.CancelScope()
        self._lock = anyio.Lock()
        self._last_sent = anyio.current_time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem: Problem | None = None
        with self._service.metrics.open_streams.track_inprogress():
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._leave_with_reader, receive)
                beside.start_soon(self._attend, HTTPConnection(scope), send)
                problem = await self._send_frames(send)
                if problem is not None and self._started:
                    await self._write(self._ending(problem).data, send)
                beside.cancel_scope.cancel()
        if problem is not None and not self._started:
            raise HttpProblem(problem)
        if not self._gone:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_frames(self, send: Send) -> Problem | None:
        """What ended the stream, unless it ended well or nobody listens any more."""
        problem: Problem | None = INTERNAL
        with self._reading:
            try:
                async for data, last in self._frames:
                    self._ended = last
                    await self._write(data, send)
                    del data  # the next one may be long in coming
                    if last:
                        break
            except BookwiseError as error:
                problem = problem_of(error)
            except Exception:
                logger.exception("A stream failed")
            finally:
                with anyio.CancelScope(shield=True):
                    await self._frames.aclose()
        if self._ended or self._gone:
            return None
        return self._why_cut if self._reading.cancelled_caught else problem

    async def _write(self, data: bytes, send: Send) -> None:
        async with self._lock:
            with anyio.move_on_after(SEND_SECONDS) as waited:
                try:
                    if not self._started:
                        self._started = True
                        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                except OSError:
                    self._leave()
            if waited.cancelled_caught:
                self._leave()
            self._last_sent = anyio.current_time()

    def _leave(self) -> None:
        self._gone = True
        self._reading.cancel()

    async def _leave_with_reader(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._leave()

    async def _attend(self, connection: HTTPConnection, send: Send) -> None:
        """Breaks silences, and ends the stream with its key or with the service. One task: thousands of streams
        are open at once."""
        stopping, key_checked = self._service.stopping, anyio.current_time()
        while not stopping.is_set():
            next_check = key_checked + self._service.key_check_seconds
            with anyio.move_on_at(min(next_check, self._last_sent + PING_SECONDS)):
                await stopping.wait()
            if anyio.current_time() >= next_check:
                key_checked = anyio.current_time()
                if not await still_welcome(connection, self._service):
                    return self._cut(REVOKED)
            if anyio.current_time() >= self._last_sent + PING_SECONDS:
                await self._write(PING, send)
        await anyio.sleep(GRACE_SECONDS)
        self._cut(SHUTTING_DOWN)

    def _cut(self, why: Problem) -> None:
        self._why_cut = why
        self._reading.cancel()


class StreamUsage(Shape):
    """What a language model was asked for; zero without one."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    calls: int

    @classmethod
    def of(cls, used: Usage) -> "StreamUsage":
        return cls(
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            total_tokens=used.total_tokens,
            calls=used.calls,
        )


async def answer_frames(
    events: AsyncGenerator[AnswerEvent], session_id: str, *, answer_id: str
) -> AsyncGenerator[Frame]:
    """The events of one answer as a reader of the stream gets them."""
    async with aclosing(events):
        async for event in events:
            if found := frame_of(event, session_id, answer_id):
                yield found


def frame_of(event: AnswerEvent, session_id: str, answer_id: str) -> Frame | None:
    match event:
        case SearchStarted():
            return frame("tool_call", {"name": TOOL_NAME, "arguments": {"query": event.query, "top_k": event.top_k}})
        case EvidenceFound():
            return frame("retrieval", _retrieval(event.evidence))
        case TextDelta():
            return frame("content", {"delta": event.text})
        case AnswerFinished(answer=Interrupted() as answer):
            why = model_problem(answer.reason, "The answer was cut off; what was said of it is kept as incomplete.")
            return error_frame(why, session_id=session_id)
        case AnswerFinished():
            response = ChatResponse.of(event.answer, session_id=session_id, answer_id=answer_id).model_dump(mode="json")
            usage = StreamUsage.of(event.answer.meta.usage).model_dump()
            return frame("done", {**response, "usage": usage}, last=True)
        case StateChanged():
            return None


def _retrieval(evidence: Evidence) -> dict[str, Any]:
    return {
        "query": evidence.question,
        "sources": [Source.of(passage).model_dump(mode="json") for passage in evidence.passages],
        "metrics": ConfidenceMetrics.of(evidence.confidence).model_dump(mode="json"),
    }


def error_frame(problem: Problem, **more: str) -> Frame:
    return frame("error", {**problem.body(), **more}, last=True)
