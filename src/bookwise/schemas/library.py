"""The public objects of the Python library: messages, conversations and what was retrieved for a question."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, cast
from uuid import UUID

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from bookwise.domain.answers import Evidence, Level, Passage
from bookwise.domain.errors import BookwiseError, InvalidInput
from bookwise.domain.threads import Role, Thread, ThreadMessage
from bookwise.schemas import locations
from bookwise.schemas.answers import Outcome
from bookwise.schemas.turns import ROLES, TurnRole, require_turns
from bookwise.schemas.wire import Shape, Similarity, new_id, now

MESSAGES_MAX = 100  #: soft limit: more are kept, with a warning
DEFAULT_MODEL = "gpt-4o-mini"
MIN_RELEVANCE_SCORE = 0.3


class LibraryShape(Shape):
    """A public object whose wrong values raise `InvalidInput`, like everything else in the library."""

    model_config = ConfigDict(hide_input_in_errors=True)  # an input may hold a key

    @model_validator(mode="wrap")
    @classmethod
    def _raise_own_error(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise cls._error(error) from None

    @classmethod
    def _error(cls, error: ValidationError) -> BookwiseError:
        return InvalidInput(explain(cls.__name__, error))


def explain(name: str, error: ValidationError) -> str:
    """The problems of a public object on one line, without the values."""
    problems = [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ").replace("Value error, ", "")
        for problem in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    return f"Invalid {name}: {'; '.join(problems)}."


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: TurnRole
    content: str
    timestamp: datetime = field(default_factory=now)
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None  #: the tool's name, in a tool's message
    complete: bool = True  #: False for an answer that was cut off

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"The role is {self.role!r}; allowed: {', '.join(ROLES)}.")
        if self.role == "user" and not self.content.strip():
            raise InvalidInput("The user message is empty.", advice="Ask something about the book.")
        if self.tool_calls and self.role != "assistant":
            raise InvalidInput(f"Only assistant messages may have tool_calls; the role is {self.role!r}.")
        if self.tool_call_id and self.role != "tool":
            raise InvalidInput(f"Only tool messages may have a tool_call_id; the role is {self.role!r}.")

    def to_openai(self) -> dict[str, Any]:
        """The message in OpenAI's format."""
        optional = {"tool_calls": self.tool_calls, "tool_call_id": self.tool_call_id, "name": self.name}
        return {"role": self.role, "content": self.content} | {key: value for key, value in optional.items() if value}


def thread_messages(messages: Sequence[Message | ThreadMessage]) -> tuple[ThreadMessage, ...]:
    """The questions and answers of a conversation, without system messages, tool calls and tool results."""
    return tuple(
        message if isinstance(message, ThreadMessage) else _thread_message(message)
        for message in messages
        if isinstance(message, ThreadMessage) or (message.role in ("user", "assistant") and not message.tool_calls)
    )


def _thread_message(message: Message) -> ThreadMessage:
    return ThreadMessage(
        role=cast(Role, message.role),
        content=message.content,
        timestamp=message.timestamp,
        complete=message.complete,
    )


@dataclass(slots=True)
class Conversation:
    """Messages in order: system first, then user and assistant take turns."""

    id: str = field(default_factory=new_id)
    messages: list[Message] = field(default_factory=list)
    created_at: datetime = field(default_factory=now)
    model: str = DEFAULT_MODEL

    def __post_init__(self) -> None:
        try:
            UUID(self.id)
        except ValueError:
            raise InvalidInput(f"The conversation id {self.id!r} is not a UUID.") from None
        require_turns(self.messages)
        self._warn_when_long(stacklevel=4)

    def add_message(self, message: Message) -> None:
        """Appends the message; warns when the conversation is past its soft limit of 100 messages."""
        require_turns([*self.messages, message])
        self.messages.append(message)
        self._warn_when_long(stacklevel=3)

    def to_openai_messages(self) -> list[dict[str, Any]]:
        """The messages in OpenAI's format."""
        return [message.to_openai() for message in self.messages]

    @classmethod
    def of(cls, thread: Thread, *, system_prompt: str, model: str = DEFAULT_MODEL) -> Self:
        """A stored thread as a conversation."""
        turns = [
            Message(role=m.role, content=m.content, timestamp=m.timestamp, complete=m.complete) for m in thread.messages
        ]
        first = Message(role="system", content=system_prompt, timestamp=thread.created_at)
        return cls(id=thread.id, messages=[first, *turns], created_at=thread.created_at, model=model)

    def _warn_when_long(self, *, stacklevel: int) -> None:
        if len(self.messages) > MESSAGES_MAX:
            warnings.warn(
                f"The conversation has {len(self.messages)} messages; more than {MESSAGES_MAX} may not fit the model.",
                stacklevel=stacklevel,
            )


def _web_address(fields: dict[str, Any]) -> str:
    source: str = fields.get("source_url", "")
    return source if source.startswith(("https://", "http://")) else ""


class RetrievalResult(LibraryShape):
    """One retrieved chunk with its score and its place in the book."""

    text: str = Field(validation_alias=AliasChoices("text", "chunk_text", "content"))
    score: Similarity = Field(validation_alias=AliasChoices("score", "similarity_score"))
    source_url: str = Field(
        default="",
        validation_alias=AliasChoices("source_url", "page_url"),
        description="The page's address, or the file of an unpublished book.",
    )
    page_url: str = Field(default_factory=_web_address, description="The page's address; empty when unpublished.")
    page_title: str = ""
    module_name: str = ""
    section_heading: str | None = Field(default=None, validation_alias=AliasChoices("section_heading", "section"))
    breadcrumb: str | None = None
    chunk_index: int = Field(default=0, ge=0)
    rank: int = Field(default=1, ge=1, description="Position among the results, from 1.")
    number: int | None = Field(
        default=None,
        ge=1,
        description="In `sources` of an answer, the [n] that cites it; otherwise its number among the chunks found.",
    )
    chunk_id: str = ""
    quote: str = Field(default="", description="The words of the chunk that support the answer.")
    query_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def chunk_text(self) -> str:
        return self.text

    @property
    def content(self) -> str:
        return self.text

    @property
    def similarity_score(self) -> float:
        return self.score

    @property
    def section(self) -> str | None:
        return self.section_heading

    @classmethod
    def of(cls, passage: Passage, *, rank: int = 1, quote: str = "", query_id: str = "") -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            text=chunk.text,
            score=passage.score,
            source_url=locations.address(where),
            page_url=where.url,
            page_title=where.page_title,
            module_name=where.module,
            section_heading=where.section_title,
            breadcrumb=locations.trail(where) or None,
            chunk_index=chunk.index,
            rank=rank,
            number=passage.number,
            chunk_id=chunk.id,
            quote=quote,
            query_id=query_id,
            metadata=_metadata(passage),
        )


def _metadata(passage: Passage) -> dict[str, Any]:
    chunk, where, audience = passage.chunk, passage.chunk.locator, passage.chunk.audience
    return {
        "number": passage.number,
        "chunk_id": chunk.id,
        "content_hash": chunk.content_hash,
        "parent_doc_id": chunk.lesson_id,
        "book_id": where.book_id,
        "module": where.module,
        "chapter": where.chapter,
        "lesson": where.lesson,
        "source_file": where.source_file,
        "anchor": where.anchor,
        "hardware_tier": audience.hardware_tier,
        "proficiency_level": audience.proficiency_level,
        "layer": audience.layer,
        "cosine": passage.cosine,
        "lexical": passage.lexical,
    }


def _is_relevant(fields: dict[str, Any]) -> bool:
    chunks: Sequence[RetrievalResult] = fields.get("chunks", ())
    return bool(chunks) and chunks[0].score >= fields.get("min_relevance_score", MIN_RELEVANCE_SCORE)


def _count(fields: dict[str, Any]) -> int:
    return len(fields.get("chunks", ()))


class RetrievalContext(LibraryShape):
    """The chunks retrieved for a query, best first."""

    query: str
    chunks: tuple[RetrievalResult, ...] = Field(validation_alias=AliasChoices("chunks", "results"))
    total_found: int = Field(default_factory=_count, ge=0)
    query_time_ms: float = Field(default=0.0, ge=0)
    min_relevance_score: Similarity = MIN_RELEVANCE_SCORE
    has_relevant_results: bool = Field(default_factory=_is_relevant)
    retrieved_at: datetime = Field(default_factory=now)
    filter_applied: str | None = Field(default=None, description="The module the search was limited to.")

    @model_validator(mode="after")
    def _require_consistency(self) -> Self:
        scores = [chunk.score for chunk in self.chunks]
        if scores != sorted(scores, reverse=True):
            raise InvalidInput("Invalid RetrievalContext: chunks must be ordered by score, best first.")
        if self.total_found < len(self.chunks):
            raise InvalidInput(f"Invalid RetrievalContext: total_found is {self.total_found}, less than the chunks.")
        if self.has_relevant_results != _is_relevant(dict(self)):
            raise InvalidInput("Invalid RetrievalContext: has_relevant_results contradicts the first chunk's score.")
        return self

    @property
    def results(self) -> tuple[RetrievalResult, ...]:
        return self.chunks

    def format_for_agent(self) -> str:
        """The chunks as text for a model."""
        if not self.chunks:
            return "No relevant content found in the book."
        lines = []
        for position, chunk in enumerate(self.chunks, 1):
            lines.append(f"[{chunk.number or position}] Source: {chunk.source_url}")
            lines.append(f"    Score: {chunk.score:.2f}")
            lines.append(f"    Content: {chunk.text}")
            lines.append("")
        return "\n".join(lines)

    def format_sources_footer(self) -> str:
        """The sources as Markdown to put below an answer; empty without chunks."""
        return sources_footer(self.chunks)

    @classmethod
    def of(
        cls, evidence: Evidence, *, min_relevance: float = MIN_RELEVANCE_SCORE, filter_applied: str | None = None
    ) -> Self:
        return cls.of_passages(
            evidence.passages,
            query=evidence.question,
            query_time_ms=evidence.timings.total_ms if evidence.timings else 0.0,
            min_relevance_score=min_relevance,
            filter_applied=filter_applied,
        )

    @classmethod
    def of_passages(cls, passages: Sequence[Passage], *, query: str, **fields: Any) -> Self:
        best_first = sorted(passages, key=lambda passage: -passage.score)
        chunks = tuple(RetrievalResult.of(passage, rank=rank) for rank, passage in enumerate(best_first, 1))
        return cls(query=query, chunks=chunks, **fields)


def sources_footer(sources: Sequence[RetrievalResult]) -> str:
    """A list of sources below a rule. It begins with a line break; a blank line must come before the rule."""
    if not sources:
        return ""
    lines = ["", "---", "**Sources:**"]
    for position, source in enumerate(sources, 1):
        lines.append(f"[{source.number or position}] {source.source_url} (score: {source.score:.2f})")
    return "\n".join(lines)


class ValidationResult(LibraryShape):
    """The verdict on one validation question of a book."""

    question: str
    kind: str = Field(description="The kind of question, such as answerable or unanswerable.")
    passed: bool
    reason: str = Field(default="", description="Why the answer is wrong; empty when it passed.")
    outcome: Outcome
    confidence: Level | None = None
    similarity: Similarity = 0.0
    id: str = ""
    history: tuple[str, ...] = Field(default=(), description="The questions asked before this one.")
    lesson: str | None = Field(default=None, description="The lesson that holds the answer.")
    section: str | None = None
    lesson_found: bool | None = Field(default=None, description="Whether the search found the lesson.")
    lesson_cited: bool | None = None
    section_cited: bool | None = None
    sources: tuple[RetrievalResult, ...] = Field(default=(), description="The chunks that the answer cites.")
    broken_citations: tuple[str, ...] = ()
    type: str | None = Field(default=None, description="The type of question, such as how-to, if the author names it.")
    useful: bool | None = Field(
        default=None, description="Whether the answer contains half of the facts; None when the question names none."
    )
    complete: bool | None = Field(default=None, description="Whether the answer contains all facts.")
    missing: tuple[str, ...] = Field(default=(), description="The facts that the answer does not contain.")
    unwanted: tuple[str, ...] = Field(default=(), description="What the answer contains and should avoid.")
    answer: str = ""
    total_time_ms: float = Field(default=0.0, ge=0)

    @field_validator("question")
    @classmethod
    def _require_question(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("must not be empty")
        return question
