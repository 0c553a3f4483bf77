"""POST /chat/run, POST /chat/stream: answer a question in a session, as one response or as a stream."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response

from bookwise.answering.ask import final
from bookwise.answering.converse import converse
from bookwise.answering.followup.current_lesson import lesson_at, mentions_current_lesson
from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.auth.access import Reader
from bookwise.api.auth.rate_limit import rate_limits_of
from bookwise.api.idempotency import IdempotentRoute
from bookwise.api.problems import documented
from bookwise.api.rendering.answers import with_html
from bookwise.api.routes.books import book_for
from bookwise.api.session_ids import find_thread, thread_id_of
from bookwise.api.sse import EventStream, Frame, answer_frames, error_frame
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import Caller
from bookwise.domain.answers import AnswerEvent, CurrentLesson
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.domain.threads import Thread
from bookwise.schemas.chat import ChatRequest, ChatResponse
from bookwise.schemas.wire import new_id

router = APIRouter(prefix="/chat", tags=["chat"], route_class=IdempotentRoute)

STREAM = """\
event: tool_call
data: {"name": "retrieve_documentation", "arguments": {"query": "What is a node?", "top_k": 5}}

event: retrieval
data: {"query": "What is a node?", "sources": [], "metrics": {}}

event: content
data: {"delta": "A node is a process that computes. [1] "}

event: content
data: {"delta": "With \\"html\\": true.", "keep": 0, "html": "<p>A node … With &quot;html&quot;: true.</p>"}

event: done
data: {"response": "…", "sources": [], "session_id": "…", "answer_id": "…", "usage": {"total_tokens": 0}}

"""
STREAMS: dict[int | str, dict[str, Any]] = documented(404, 409, 507) | {
    200: {
        "description": "Server-sent events: `tool_call`, `retrieval` and `content`, then exactly one `done` (a "
        "ChatResponse with `usage`) or `error` (a problem). Comments keep a quiet stream open. With `html`, an event "
        "`content` also has `html` and `keep`: the first `keep` elements shown stay, `html` replaces the others.",
        "headers": {"X-Session-ID": {"description": "The session of the question.", "schema": {"type": "string"}}},
        "content": {
            "text/event-stream": {
                "itemSchema": {
                    "type": "object",
                    "required": ["event", "data"],
                    "properties": {
                        "event": {"enum": ["tool_call", "retrieval", "content", "done", "error"]},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                },
                "example": STREAM,
            }
        },
    },
    204: {"description": "A stream cannot be resumed with `Last-Event-ID`. Read the session instead."},
}
RUNS: dict[int | str, dict[str, Any]] = documented(404, 409, 507) | {
    200: {"description": "The answer, or a stream of it when `stream` is true.", "model": ChatResponse}
    | {"content": STREAMS[200]["content"]}
}


@router.post("/run", response_model=ChatResponse, responses=RUNS, summary="Ask a question")
async def run(request: Request, caller: Reader, body: ChatRequest) -> ChatResponse | Response:
    """Answers from the book, with sources and a confidence. Refuses when the book has no answer."""
    if body.stream:
        return _stream(request, caller, body)
    answer_id = new_id()
    async with aclosing(_conversation(body, answer_id, caller, state_of(request))) as events:
        response = ChatResponse.of(await final(events), session_id=body.session_id, answer_id=answer_id)
    return with_html(response) if body.html else response


@router.post("/stream", response_class=Response, responses=STREAMS, summary="Ask a question and stream the answer")
async def stream(request: Request, caller: Reader, body: ChatRequest) -> Response:
    """Streams the answer while it is written. Closing the connection stops it; the session keeps the text so far,
    marked as incomplete."""
    if "last-event-id" in request.headers:
        return Response(status_code=204)
    return _stream(request, caller, body)


def _stream(request: Request, caller: Caller, body: ChatRequest) -> EventStream:
    state, session_id, answer_id = state_of(request), body.session_id, new_id()

    async def frames() -> AsyncGenerator[Frame]:
        events = _conversation(body, answer_id, caller, state)
        answer = answer_frames(events, session_id, answer_id=answer_id, html=body.html)
        async with rate_limits_of(request).stream(caller), aclosing(answer):
            async for frame in answer:
                yield frame

    return EventStream(
        frames(),
        ending=lambda problem: error_frame(problem, session_id=session_id),
        state=state,
        headers={"X-Session-ID": session_id},
    )


def _conversation(
    body: ChatRequest, answer_id: str, caller: Caller, state: ServiceState
) -> AsyncGenerator[AnswerEvent]:
    """The events of one answer in the caller's session, with the answer logged. Begins when there is room."""
    return state.load_limit.answer(_answer_events(body, answer_id, caller, state), state.kit, body.engine)


async def _answer_events(
    body: ChatRequest, answer_id: str, caller: Caller, state: ServiceState
) -> AsyncGenerator[AnswerEvent]:
    if body.engine is not None and body.engine not in state.kit.engines:
        raise InvalidInput(
            f"The engine {body.engine!r} is not configured.", advice=f"Use {', '.join(state.kit.engines)}."
        )
    thread = await _thread(body, caller, state)
    settings = state.settings
    question = body.question(
        thread.book_id, default_threshold=settings.agent_score_threshold, default_top_k=settings.agent_top_k
    )
    question = replace(question, lesson=await _current_lesson(body, thread.book_id, state))
    turn = ChatTurn(question=question, owner=caller.owner, thread_id=thread.id, answer_id=answer_id)
    threads = state.app.threads
    answer = converse(question, thread.id, kit=state.kit, threads=threads, owner=caller.owner, answer_id=answer_id)
    async with aclosing(log_answer(answer, turn, state)) as events:
        async for event in events:
            yield event


async def _current_lesson(body: ChatRequest, book_id: str, state: ServiceState) -> CurrentLesson | None:
    """The lesson that the reader chose, or the lesson of the reader's page if the question is about it. Raises
    `NotFound` for a chosen lesson that the book does not have."""
    if body.parent_doc_id is not None:
        records = await state.app.catalog.records(book_id)
        chosen = next((record for record in records if record.lesson_id == body.parent_doc_id), None)
        if chosen is None:
            raise NotFound(
                f"Book {book_id!r} has no lesson {body.parent_doc_id}.", advice="Leave parent_doc_id out, or ask again."
            )
        return CurrentLesson(id=chosen.lesson_id, title=chosen.title)
    if not body.page_url or not mentions_current_lesson(body.message):
        return None
    return lesson_at(body.page_url, await state.app.catalog.records(book_id))


async def _thread(body: ChatRequest, caller: Caller, state: ServiceState) -> Thread:
    """The thread of the caller's session; a new one when there is none."""
    threads = state.app.threads
    try:
        thread = await find_thread(threads, body.session_id, caller.owner)
    except NotFound:
        book = await book_for(caller, body.book_id, state, module=body.module)
        thread_id = thread_id_of(body.session_id, caller.owner)
        try:
            return await threads.create(
                book_id=book.id, owner=caller.owner, thread_id=thread_id, metadata=body.metadata
            )
        except Conflict:  # created by a concurrent request of this caller
            thread = await threads.thread(thread_id, owner=caller.owner)
    await book_for(caller, thread.book_id, state, module=body.module)  # the book may have been removed
    _require_same(body, thread)
    return thread


def _require_same(body: ChatRequest, thread: Thread) -> None:
    """Raises `InvalidInput` when the request names another book or other metadata than the session has."""
    if body.book_id not in (None, thread.book_id):
        raise InvalidInput(
            f"This session is about the book {thread.book_id!r}, not {body.book_id!r}.",
            advice="Leave session_id out to start a new session.",
        )
    if body.metadata is not None and body.metadata != thread.metadata:
        raise InvalidInput(
            "The metadata of a session is set by its first request and cannot be changed.",
            advice="Leave metadata out, or leave session_id out to start a new session.",
        )
