"""Threads and their messages."""

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
LEASE_SECONDS = 15.0  #: how long a thread stays busy when the process that was answering has died
RENEWAL_SECONDS = 5.0


def checked_thread_id(thread_id: str) -> str:
    """The id in lower case. Raises `InvalidInput` unless it is a UUID of version 4."""
    try:
        parsed = UUID(thread_id)
    except (ValueError, AttributeError, TypeError):
        parsed = None
    if parsed is None or parsed.version != 4 or str(parsed) != thread_id.lower():
        raise InvalidInput("A thread id must be a UUID of version 4.", advice="Omit it to start a new thread.")
    return str(parsed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """A message in a thread, from the user or the assistant."""

    role: Role
    content: str
    timestamp: datetime
    confidence: float | None = None  #: of an assistant message
    complete: bool = True  #: False while an answer is being written, and for an answer that was cut off
    details: Mapping[str, Any] = field(default_factory=dict)  #: outcome, citations, … as JSON, for display


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """Some consecutive messages of a thread, oldest first."""

    messages: tuple[ThreadMessage, ...]
    total: int  #: number of messages in the thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A stored conversation: user and assistant messages alternate, starting with the user."""

    id: str
    book_id: str
    owner: str  #: only the owner can see the thread
    messages: tuple[ThreadMessage, ...] = ()  #: the newest 50; older ones are archived
    archived_messages: int = 0
    created_at: datetime
    updated_at: datetime
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    archived: bool = False  #: in cold storage after an hour without a message; the next message makes it live again
