"""Public JSON objects of stored sessions."""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Self

from pydantic import Field, model_validator

from bookwise.domain.answers import Level
from bookwise.domain.threads import LIVE_MESSAGES_MAX, SUMMARY_MAX, Role, Thread, ThreadMessage
from bookwise.schemas.chat import ANSWER_EXAMPLE
from bookwise.schemas.wire import (
    EXAMPLE_BOOK_ID,
    EXAMPLE_SESSION_ID,
    EXAMPLE_TIME,
    SessionId,
    Shape,
    Similarity,
    UtcTime,
    examples,
    new_id,
    now,
)

MESSAGES_EXAMPLE: list[dict[str, Any]] = [
    {"role": "user", "content": "What is a node?", "timestamp": EXAMPLE_TIME},
    {"role": "assistant", "content": ANSWER_EXAMPLE["response"], "timestamp": EXAMPLE_TIME, "confidence": 0.91},
]


class HistoryMessage(Shape):
    """One message of a session."""

    role: Role
    content: str
    timestamp: UtcTime
    confidence: Similarity | None = Field(default=None, exclude_if=lambda value: value is None)
    complete: bool = Field(default=True, exclude_if=bool, description="False for an answer that was cut off.")
    details: dict[str, Any] = Field(default_factory=dict, exclude_if=operator.not_)
    confidence_level: Level | None = Field(
        default=None, exclude_if=lambda value: value is None, description="The level of `confidence`, with `html`."
    )
    html: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="The answer as safe HTML, on request."
    )

    @model_validator(mode="after")
    def _check_confidence(self) -> Self:
        if self.role == "user" and self.confidence is not None:
            raise ValueError("only an assistant message has a confidence")
        return self

    @classmethod
    def of(cls, message: ThreadMessage) -> Self:
        return cls(
            role=message.role,
            content=message.content,
            timestamp=message.timestamp,
            confidence=message.confidence,
            complete=message.complete,
            details=dict(message.details),
        )


class ConversationThread(Shape):
    """A session with its newest messages, oldest first."""

    model_config = examples(
        {
            "thread_id": EXAMPLE_SESSION_ID,
            "messages": MESSAGES_EXAMPLE,
            "created_at": EXAMPLE_TIME,
            "updated_at": EXAMPLE_TIME,
            "topic_summary": None,
            "metadata": {"user_id": "user123"},
            "book_id": EXAMPLE_BOOK_ID,
        }
    )

    thread_id: SessionId = Field(default_factory=new_id)
    messages: tuple[HistoryMessage, ...] = Field(default=(), max_length=LIVE_MESSAGES_MAX)
    created_at: UtcTime = Field(default_factory=now)
    updated_at: UtcTime = Field(default_factory=now)
    topic_summary: str | None = Field(default=None, max_length=SUMMARY_MAX)
    metadata: dict[str, Any] = Field(default_factory=dict)
    book_id: str | None = Field(default=None, exclude_if=lambda value: value is None)
    archived_messages: int = Field(default=0, ge=0, exclude_if=operator.not_)
    archived: bool = Field(default=False, exclude_if=operator.not_)

    @model_validator(mode="after")
    def _check_messages(self) -> Self:
        for before, after in pairwise(self.messages):
            if before.role == after.role:
                raise ValueError("messages must alternate between user and assistant")
            if before.timestamp > after.timestamp:
                raise ValueError("messages must be in chronological order")
        return self

    @classmethod
    def of(cls, thread: Thread) -> Self:
        return cls(
            thread_id=thread.id,
            messages=tuple(HistoryMessage.of(message) for message in _in_order(thread.messages)),
            created_at=thread.created_at,
            updated_at=thread.updated_at,
            topic_summary=thread.topic_summary,
            metadata=dict(thread.metadata),
            book_id=thread.book_id,
            archived_messages=thread.archived_messages,
            archived=thread.archived,
        )


def _in_order(messages: Iterable[ThreadMessage]) -> Iterator[ThreadMessage]:
    """The messages with timestamps that never decrease: a server clock that was set back must not make a session
    unreadable."""
    latest: datetime | None = None
    for message in messages:
        latest = max(latest or message.timestamp, message.timestamp)
        yield replace(message, timestamp=latest)
