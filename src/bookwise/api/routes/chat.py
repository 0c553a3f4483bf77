"""POST /chat/run, POST /chat/stream: a question in a thread → its answer, whole or while it is written."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from bookwise.answering.ask import final
from bookwise.answering.converse import converse
from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.auth.access import Reader, require_book
from bookwise.api.auth.rate_limit import limiter_of
from bookwise.api.idempotency import IdempotentRoute
from bookwise.api.problems import documented
from bookwise.api.routes.books import book_for
from bookwise.api.sse import EventStream, Frame, answer_frames, error_frame
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import Caller
from bookwise.domain.answers import AnswerEvent
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.domain.threads import Thread
from bookwise.schemas.chat import ChatRequest, ChatResponse
from bookwise.schemas.wire import new_id

router = APIRouter(prefix="/chat", tags=["chat"], route_class=IdempotentRoute)

EXAMPLES = {
    "first": {
        "summary": "A first question; the answer names its session",
        "value": {"message": "How do ROS 2 nodes communicate?", "similarity_threshold": 0.5},
    },
    "follow-up": {
        "summary": "A follow-up in the same session",
        "value": {"message": "And how do I start one?", "session_id": "550e8400-e29b-41d4-a716-446655440000"},
    },
}
STREAM = """\
event: tool_call
data: {"name": "retrieve_documentation", "arguments": {"query": "What is a node?", "top_k": 5}}

event: retrieval
data: {"query": "What is a node?", "sources": [], "metrics": {}}

event: content
data: {"delta": "A node is a process that computes. [1] "}

event: done
data: {"response": "…", "sources": [], "session_id": "…", "answer_id": "…", "usage": {"total_tokens": 0}}

"""
STREAMS: dict[int | str, dict[str, Any]] = documented(404, 409, 507) | {
    200: {
        "description": "Server-sent events `tool_call`, `retrieval` and `content`, then exactly one `done` (a "
        "ChatResponse with `usage`) or `error` (a problem). A silent stream sends comments.",
        "headers": {
            "X-Session-ID": {"description": "The session the question is asked in.", "schema": {"type": "string"}}
        },
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
    204: {"description": "A stream cannot be resumed (`Last-Event-ID`): the session holds what was said."},
}
RUNS: dict[int | str, dict[str, Any]] = documented(404, 409, 507) | {
    200: {"description": "The answer, or its stream where `stream` is true.", "model": ChatResponse}
    | {"content": STREAMS[200]["content"]}
}
Asked = Annotated[ChatRequest, Body(openapi_examples=EXAMPLES)]


@router.post("/run", response_model=ChatResponse, responses=RUNS, summary="Ask a question")
async def run(request: Request, caller: Reader, asked: Asked) -> ChatResponse | Response:
    """Answers from the book and says where and how sure; refuses when the book has no answer."""
    if asked.stream:
        return _streamed(request, caller, asked)
    answer_id = new_id()
    async with aclosing(_conversation(asked, answer_id, caller, state_of(request))) as events:
        return ChatResponse.of(await final(events), session_id=asked.session_id, answer_id=answer_id)


@router.post("/stream", response_class=Response, responses=STREAMS, summary="Ask, and read while it is answered")
async def stream(request: Request, caller: Reader, asked: Asked) -> Response:
    """The same answer while it is written. Who leaves stops it; what was said is kept, marked as incomplete."""
    if "last-event-id" in request.headers:
        return Response(status_code=204)
    return _streamed(request, caller, asked)


def _streamed(request: Request, caller: Caller, asked: ChatRequest) -> EventStream:
    service, session_id, answer_id = state_of(request), asked.session_id, new_id()

    async def frames() -> AsyncGenerator[Frame]:
        events = _conversation(asked, answer_id, caller, service)
        answer = answer_frames(events, session_id, answer_id=answer_id)
        with limiter_of(request).stream(caller):
            async with aclosing(answer):
                async for frame in answer:
                    yield frame

    return EventStream(
        frames(),
        ending=lambda problem: error_frame(problem, session_id=session_id),
        service=service,
        headers={"X-Session-ID": session_id},
    )


async def _conversation(
    asked: ChatRequest, answer_id: str, caller: Caller, service: ServiceState
) -> AsyncGenerator[AnswerEvent]:
    """The events of one answer in the caller's thread, noted."""
    if asked.engine is not None and asked.engine not in service.kit.engines:
        raise InvalidInput(
            f"The engine {asked.engine!r} is not set up here.", advice=f"Use {', '.join(service.kit.engines)}."
        )
    thread = await _thread(asked, caller, service)
    question = asked.question(thread.book_id, default_top_k=service.settings.agent_top_k)
    asking = ChatTurn(question=question, owner=caller.owner, thread_id=thread.id, answer_id=answer_id)
    threads = service.app.threads
    talk = converse(question, thread.id, kit=service.kit, threads=threads, owner=caller.owner, answer_id=answer_id)
    async with aclosing(log_answer(talk, asking, service)) as events:
        async for event in events:
            yield event


async def _thread(asked: ChatRequest, caller: Caller, service: ServiceState) -> Thread:
    """The caller's thread, begun where there is none; somebody else's does not exist."""
    threads = service.app.threads
    try:
        thread = await threads.thread(asked.session_id, owner=caller.owner)
    except NotFound:
        book = await book_for(caller, asked.book_id, service)
        try:
            return await threads.create(book_id=book.id, owner=caller.owner, thread_id=asked.session_id)
        except Conflict:  # begun by the same caller a moment ago, or somebody else's: then it is not found again
            thread = await threads.thread(asked.session_id, owner=caller.owner)
    require_book(caller, thread.book_id)
    if asked.book_id not in (None, thread.book_id):
        raise InvalidInput(
            f"This session is about the book {thread.book_id!r}, not {asked.book_id!r}.",
            advice="Leave session_id out to begin a new one.",
        )
    return thread
