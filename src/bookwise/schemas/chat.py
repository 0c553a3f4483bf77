"""The public shapes of the chat service: request, response, thread, retrieval, confidence."""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field, StrictBool, StringConstraints, WithJsonSchema, field_validator, model_validator

from bookwise.answering.evidence.confidence import level_of
from bookwise.domain.answers import QUESTION_MAX, Answer, EngineName, Level, Passage, Question
from bookwise.domain.threads import LIVE_MESSAGES_MAX, SUMMARY_MAX, Role, Thread, ThreadMessage
from bookwise.schemas import locations
from bookwise.schemas.answers import GroundingReport, Outcome, summarize_answer
from bookwise.schemas.retrieval import TOP_K_MAX, ChunkMetadata, ConfidenceMetrics, RetrievalReport, require_decision
from bookwise.schemas.wire import UUID4, SessionId, Shape, Similarity, Timestamp, UtcTime, iso, new_id, now, shortened

DISPLAY_MAX = 500

__all__ = [
    "ChatRequest",
    "ChatResponse",
    "ChunkMetadata",
    "ConfidenceMetrics",
    "ConversationThread",
    "HistoryMessage",
    "RetrievalReport",
    "Source",
]

OptionalSessionId: TypeAlias = Annotated[SessionId, WithJsonSchema({"anyOf": [UUID4, {"type": "null"}]})]
MessageText: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUESTION_MAX)]


class ChatRequest(Shape):
    """A reader's question."""

    message: MessageText
    session_id: OptionalSessionId = Field(default_factory=new_id)
    stream: StrictBool = False
    top_k: int = Field(default=5, ge=1, le=TOP_K_MAX, strict=True)
    similarity_threshold: Similarity = Field(default=0.7, strict=True)
    book_id: str | None = None
    engine: EngineName | None = None

    @field_validator("session_id", mode="before")
    @classmethod
    def _null_means_a_new_thread(cls, value: Any) -> Any:
        return new_id() if value is None else value

    def question(self, default_book_id: str, *, default_top_k: int = 5) -> Question:
        """The question; `default_top_k` applies, up to this face's limit, when the request names no `top_k`."""
        return Question(
            text=self.message,
            book_id=self.book_id or default_book_id,
            top_k=self.top_k if "top_k" in self.model_fields_set else min(default_top_k, TOP_K_MAX),
            threshold=self.similarity_threshold,
            engine=self.engine,
        )


class Source(Shape):
    """A passage, as shown beside an answer."""

    chunk_text: str = Field(max_length=DISPLAY_MAX)
    similarity_score: Similarity
    chapter: str
    section: str
    url: str
    chunk_index: int = Field(ge=0)
    number: int | None = Field(default=None, ge=1, description="The [n] in the answer.")
    chunk_id: str = ""
    quote: str = Field(default="", description="The words of the passage that carry the answer.")
    page_title: str = ""
    cosine: float | None = Field(default=None, ge=-1.001, le=1.001)

    @classmethod
    def of(cls, passage: Passage, *, quote: str = "") -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            chunk_text=shortened(chunk.text, DISPLAY_MAX),
            similarity_score=passage.score,
            chapter=locations.chapter(where),
            section=locations.section(where),
            url=where.url,
            chunk_index=chunk.index,
            number=passage.number,
            chunk_id=chunk.id,
            quote=quote,
            page_title=where.page_title,
            cosine=passage.cosine,
        )


def _usual_outcome(known: dict[str, Any]) -> Outcome:
    return "answered" if known.get("should_answer") else "refused"


class ChatResponse(Shape):
    """An answer with its confidence and its sources."""

    response: Annotated[str, Field(pattern=r"\S")]
    confidence: Similarity
    sources: tuple[Source, ...]
    session_id: SessionId
    timestamp: Timestamp = Field(default_factory=lambda: iso(now()))
    confidence_level: Level
    should_answer: bool
    outcome: Outcome = Field(default_factory=_usual_outcome)
    reason: str | None = Field(default=None, description="Why it was refused, blocked or cut off.")
    metrics: ConfidenceMetrics | None = None
    grounding: GroundingReport | None = None
    disclaimer: str | None = None
    nearest: tuple[Source, ...] = Field(default=(), description="Close passages of a refusal; they claim nothing.")
    degraded: str | None = Field(default=None, description="Why the configured engine could not answer.")
    truncated: bool = False
    answer_id: str | None = Field(default=None, description="By which whoever asked may rate it (POST /feedback).")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        require_decision(self.should_answer, self.confidence_level)
        possible = {level_of(self.confidence, count) for count in range(TOP_K_MAX + 1)}
        if self.confidence_level not in possible:
            raise ValueError(
                f"confidence_level cannot be {self.confidence_level!r} at a confidence of {self.confidence}"
            )
        if self.outcome == "answered" and not self.should_answer:
            raise ValueError("nothing is answered when should_answer is false")
        if self.outcome == "answered" and not self.sources:
            raise ValueError("an answer names its sources")
        return self

    @model_validator(mode="after")
    def _agrees_with_the_metrics(self) -> Self:
        if self.metrics is None:
            return self
        pairs = {
            "confidence": (self.confidence, self.metrics.average_similarity),
            "confidence_level": (self.confidence_level, self.metrics.confidence_level),
            "should_answer": (self.should_answer, self.metrics.should_answer),
        }
        for name, (mine, computed) in pairs.items():
            if mine != computed:
                raise ValueError(f"{name} is {mine!r}, but the metrics say {computed!r}")
        return self

    @classmethod
    def of(cls, answer: Answer, *, session_id: str, answer_id: str | None = None, at: datetime | None = None) -> Self:
        told = summarize_answer(answer)
        confidence = told.confidence
        return cls(
            response=told.text,
            confidence=confidence.average,
            sources=tuple(Source.of(c.passage, quote=c.quote) for c in told.citations),
            session_id=session_id,
            timestamp=iso(at or now()),
            confidence_level=confidence.level,
            should_answer=confidence.should_answer,
            outcome=told.outcome,
            reason=told.reason,
            metrics=ConfidenceMetrics.of(confidence),
            grounding=told.grounding,
            disclaimer=told.disclaimer,
            nearest=tuple(Source.of(passage) for passage in told.nearest),
            degraded=told.meta.degraded,
            truncated=told.meta.truncated,
            answer_id=answer_id,
        )


class HistoryMessage(Shape):
    """One turn of a thread."""

    role: Role
    content: str
    timestamp: UtcTime
    confidence: Similarity | None = Field(default=None, exclude_if=lambda value: value is None)
    complete: bool = Field(default=True, exclude_if=bool, description="False for an answer that was cut off.")
    details: dict[str, Any] = Field(default_factory=dict, exclude_if=operator.not_)

    @model_validator(mode="after")
    def _only_answers_are_rated(self) -> Self:
        if self.role == "user" and self.confidence is not None:
            raise ValueError("only a message of the assistant has a confidence")
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
    """A stored dialogue: its newest messages, in order."""

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
    def _takes_turns_in_time(self) -> Self:
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
            messages=tuple(HistoryMessage.of(message) for message in _in_time(thread.messages)),
            created_at=thread.created_at,
            updated_at=thread.updated_at,
            topic_summary=thread.topic_summary,
            metadata=dict(thread.metadata),
            book_id=thread.book_id,
            archived_messages=thread.archived_messages,
            archived=thread.archived,
        )


def _in_time(messages: Iterable[ThreadMessage]) -> Iterator[ThreadMessage]:
    """A server's clock that was set back must not make a thread unreadable: no message is before its predecessor."""
    latest: datetime | None = None
    for message in messages:
        latest = max(latest or message.timestamp, message.timestamp)
        yield replace(message, timestamp=latest)
