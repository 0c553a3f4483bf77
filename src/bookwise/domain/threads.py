"""Thread and message: what was said so far, in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from bookwise.domain.errors import InvalidInput

Role: TypeAlias = Literal["user", "assistant"]

LIVE_MESSAGES_MAX = 50
SUMMARY_MAX = 200
SUMMARY_FROM_EXCHANGES = 5
IDLE_SECONDS = 3600


def checked_thread_id(thread_id: str) -> str:
    """The id in its usual spelling; `InvalidInput` unless it is a UUID of version 4."""
    try:
        found = UUID(thread_id)
    except (ValueError, AttributeError, TypeError):
        found = None
    if found is None or found.version != 4 or str(found) != thread_id.lower():
        raise InvalidInput("A thread id must be a UUID of version 4.", advice="Leave it out to begin a new thread.")
    return str(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """One turn in a thread, by user or assistant."""

    role: Role
    content: str
    timestamp: datetime
    confidence: float | None = None  #: of an assistant's message
    complete: bool = True  #: False while an answer is being written, and for ever when it was cut off
    details: Mapping[str, Any] = field(default_factory=dict)  #: outcome, citations … as the faces show them; JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A stored sequence of messages: users and assistant take turns, a user begins."""

    id: str
    book_id: str
    owner: str  #: whose thread it is; nobody else sees it
    messages: tuple[ThreadMessage, ...] = ()  #: the newest 50; older ones are archived
    archived_messages: int = 0
    created_at: datetime
    updated_at: datetime
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    archived: bool = False  #: in cold storage since an hour without a message; the next message brings it back
