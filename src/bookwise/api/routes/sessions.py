"""/session/{id}: what a stored thread holds, page by page, and its end."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from bookwise.api.auth.access import Reader
from bookwise.api.problems import documented
from bookwise.api.state import state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.schemas.chat import ConversationThread, HistoryMessage
from bookwise.schemas.wire import SessionId, Shape

router = APIRouter(prefix="/session", tags=["sessions"], route_class=StrictRoute)

PAGE = 50
PAGE_MAX = 200
MESSAGES_MAX = 1_000_000  #: more than any thread has


class HistoryResponse(Shape):
    """A part of a thread's messages, oldest first, archived ones included."""

    session_id: SessionId
    messages: tuple[HistoryMessage, ...]
    total: int = Field(ge=0)
    limit: int
    offset: int = Field(description="How many older messages are left out.")


@router.get("/{session_id}", summary="Read a session", responses=documented(404))
async def session(session_id: SessionId, request: Request, caller: Reader) -> ConversationThread:
    """The thread with its newest messages, at most 50."""
    threads = state_of(request).app.threads
    return ConversationThread.of(await threads.thread(session_id, owner=caller.owner))


@router.get("/{session_id}/history", summary="Page through a session", responses=documented(404))
async def history(
    session_id: SessionId,
    request: Request,
    caller: Reader,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE,
    offset: Annotated[int, Query(ge=0, le=MESSAGES_MAX, description="Count from the oldest message.")] = 0,
) -> HistoryResponse:
    """All messages of the thread, page by page."""
    threads = state_of(request).app.threads
    messages = await threads.history(session_id, owner=caller.owner, limit=MESSAGES_MAX)
    return HistoryResponse(
        session_id=session_id,
        messages=tuple(map(HistoryMessage.of, messages[offset : offset + limit])),
        total=len(messages),
        limit=limit,
        offset=offset,
    )


@router.delete("/{session_id}", status_code=204, summary="Delete a session", responses=documented(404, 507))
async def remove(session_id: SessionId, request: Request, caller: Reader) -> None:
    """Deletes the thread with everything in it, for good."""
    await state_of(request).app.threads.remove(session_id, owner=caller.owner)
