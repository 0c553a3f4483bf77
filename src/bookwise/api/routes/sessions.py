"""GET and DELETE /session/{id}: read a stored session, page through it, delete it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field

from bookwise.api.auth.access import Reader
from bookwise.api.problems import documented
from bookwise.api.rendering.answers import messages_with_html
from bookwise.api.session_ids import find_thread
from bookwise.api.state import state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.errors import NotFound
from bookwise.schemas.sessions import MESSAGES_EXAMPLE, ConversationThread, HistoryMessage
from bookwise.schemas.wire import EXAMPLE_SESSION_ID, SessionId, Shape, examples

router = APIRouter(prefix="/session", tags=["sessions"], route_class=StrictRoute)

PAGE = 50
PAGE_MAX = 200
MESSAGES_MAX = 1_000_000  #: more than any thread has

Session = Annotated[SessionId, Path(description="Session id, a UUID of version 4.")]
Limit = Annotated[int, Query(ge=1, le=PAGE_MAX, description="Maximum number of messages.")]
Offset = Annotated[
    int, Query(ge=0, le=MESSAGES_MAX, description="Number of messages to skip, counted from the oldest.")
]
AsHtml = Annotated[bool, Query(description="Also return each answer as safe HTML.")]


class HistoryResponse(Shape):
    """A page of a session's messages, oldest first, including archived ones."""

    model_config = examples(
        {"session_id": EXAMPLE_SESSION_ID, "messages": MESSAGES_EXAMPLE, "total": 2, "limit": 50, "offset": 0}
    )

    session_id: SessionId
    messages: tuple[HistoryMessage, ...]
    total: int = Field(ge=0, description="Number of messages in the session.")
    limit: int
    offset: int = Field(description="Number of older messages that were skipped.")


@router.get("/{session_id}", summary="Read a session", responses=documented(404))
async def session(session_id: Session, request: Request, caller: Reader, html: AsHtml = False) -> ConversationThread:
    """Returns a session with its newest messages, at most 50."""
    threads = state_of(request).app.threads
    with _session_not_found(session_id):
        thread = await find_thread(threads, session_id, caller.owner)
    conversation = ConversationThread.of(replace(thread, id=session_id))
    return messages_with_html(conversation) if html else conversation


@router.get("/{session_id}/history", summary="Page through a session", responses=documented(404))
async def history(
    session_id: Session, request: Request, caller: Reader, limit: Limit = PAGE, offset: Offset = 0
) -> HistoryResponse:
    """Returns the messages of a session, page by page."""
    threads = state_of(request).app.threads
    with _session_not_found(session_id):
        thread = await find_thread(threads, session_id, caller.owner)
        page = await threads.page(thread.id, owner=caller.owner, offset=offset, limit=limit)
    return HistoryResponse(
        session_id=session_id,
        messages=tuple(map(HistoryMessage.of, page.messages)),
        total=page.total,
        limit=limit,
        offset=offset,
    )


@router.delete("/{session_id}", status_code=204, summary="Delete a session", responses=documented(404, 507))
async def remove(session_id: Session, request: Request, caller: Reader) -> None:
    """Deletes a session permanently: all its messages, and the responses stored for idempotency keys."""
    app = state_of(request).app
    with _session_not_found(session_id):
        thread = await find_thread(app.threads, session_id, caller.owner)
        await app.responses.forget_session(caller.owner, session_id)
        await app.threads.remove(thread.id, owner=caller.owner)


@contextmanager
def _session_not_found(session_id: str) -> Iterator[None]:
    """Replaces the error about a missing thread: this API calls it a session and does not list sessions."""
    try:
        yield
    except NotFound:
        raise NotFound(
            f"There is no session {session_id}.", advice="POST /chat/run starts a session and returns its session_id."
        ) from None
