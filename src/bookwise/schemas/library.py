"""The public objects of the Python library: conversation, retrieval context, response with sources, configuration."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from bookwise.domain.answers import Answer, Evidence, Passage
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.domain.threads import Thread
from bookwise.schemas import locations
from bookwise.schemas.answers import summarize_answer
from bookwise.schemas.turns import ROLES, TurnRole, require_turns
from bookwise.schemas.wire import new_id, now
from bookwise.settings import Settings, load_settings

MESSAGES_MAX = 100
DEFAULT_MODEL = "gpt-4o-mini"


@dataclass(frozen=True, slots=True)
class Message:
    """A single message in a conversation."""

    role: TurnRole
    content: str
    timestamp: datetime = field(default_factory=now)
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"The role is {self.role!r}; allowed: {', '.join(ROLES)}.")
        if self.role == "user" and not self.content.strip():
            raise InvalidInput("A user's message is empty.", advice="Ask something about the book.")
        if self.tool_calls and self.role != "assistant":
            raise InvalidInput(f"Only an assistant's message has tool_calls, not one of {self.role!r}.")
        if self.tool_call_id and self.role != "tool":
            raise InvalidInput(f"Only a tool's message has a tool_call_id, not one of {self.role!r}.")


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
            raise InvalidInput(f"The conversation's id {self.id!r} is no UUID.") from None
        require_turns(self.messages)

    def add_message(self, message: Message) -> None:
        """Appends; warns, and appends all the same, when the conversation has become long."""
        require_turns([*self.messages, message])
        self.messages.append(message)
        if len(self.messages) > MESSAGES_MAX:
            warnings.warn(
                f"The conversation has {len(self.messages)} messages; more than {MESSAGES_MAX} may not fit the model.",
                stacklevel=2,
            )

    def to_openai_messages(self) -> list[dict[str, Any]]:
        """The messages as OpenAI's API takes them."""
        return [
            {"role": m.role, "content": m.content, **({"tool_calls": m.tool_calls} if m.tool_calls else {})}
            for m in self.messages
        ]

    @classmethod
    def of(cls, thread: Thread, *, system_prompt: str, model: str = DEFAULT_MODEL) -> Self:
        said = [Message(role=m.role, content=m.content, timestamp=m.timestamp) for m in thread.messages]
        first = Message(role="system", content=system_prompt, timestamp=thread.created_at)
        return cls(id=thread.id, messages=[first, *said], created_at=thread.created_at, model=model)


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A retrieved chunk. `number` is the [n] an answer cites it by; without one its position counts."""

    rank: int
    score: float
    source_url: str
    content: str
    number: int | None = None
    page_title: str = ""
    section: str | None = None
    chunk_id: str = ""
    quote: str = ""

    @classmethod
    def of(cls, passage: Passage, *, rank: int, quote: str = "") -> Self:
        where = passage.chunk.locator
        return cls(
            rank=rank,
            score=passage.score,
            source_url=locations.address(where),
            content=passage.chunk.text,
            number=passage.number,
            page_title=where.page_title,
            section=where.section_title,
            chunk_id=passage.chunk.id,
            quote=quote,
        )


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What was retrieved for a query."""

    query: str
    results: list[RetrievalResult]
    retrieved_at: datetime = field(default_factory=now)
    filter_applied: str | None = None

    def format_for_agent(self) -> str:
        """The chunks as a model reads them."""
        if not self.results:
            return "No relevant content found in the book."
        lines = []
        for i, r in enumerate(self.results, 1):
            lines.append(f"[{r.number or i}] Source: {r.source_url}")
            lines.append(f"    Score: {r.score:.2f}")
            lines.append(f"    Content: {r.content}")
            lines.append("")
        return "\n".join(lines)

    def format_sources_footer(self) -> str:
        """The sources as they stand below an answer."""
        return _footer(self.results)

    @classmethod
    def of(cls, evidence: Evidence, *, filter_applied: str | None = None) -> Self:
        results = [RetrievalResult.of(passage, rank=rank) for rank, passage in enumerate(evidence.passages, 1)]
        return cls(query=evidence.question, results=results, filter_applied=filter_applied)


def _footer(sources: Sequence[RetrievalResult]) -> str:
    if not sources:
        return ""
    lines = ["", "---", "**Sources:**"]
    for i, source in enumerate(sources, 1):
        lines.append(f"[{source.number or i}] {source.source_url} (score: {source.score:.2f})")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """An answer with the chunks it cites."""

    content: str
    sources: list[RetrievalResult]
    model: str
    tokens_used: int
    retrieval_count: int
    created_at: datetime = field(default_factory=now)

    def __post_init__(self) -> None:
        if not self.content.strip():
            raise InvalidInput("A response has no content.")
        if self.tokens_used < 0:
            raise InvalidInput(f"tokens_used is {self.tokens_used}; it must be 0 or more.")

    def format_with_sources(self) -> str:
        """The answer with its sources below."""
        return self.content + _footer(self.sources)

    @classmethod
    def of(cls, answer: Answer) -> Self:
        told = summarize_answer(answer)
        cited = enumerate(told.citations, 1)
        return cls(
            content=told.text,
            sources=[RetrievalResult.of(c.passage, rank=rank, quote=c.quote) for rank, c in cited],
            model=told.meta.model or told.meta.engine,
            tokens_used=told.meta.usage.total_tokens,
            retrieval_count=len(told.passages),
        )


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """How the library's agent works."""

    openai_api_key: str = field(repr=False)
    openai_model: str = DEFAULT_MODEL
    top_k: int = 5
    score_threshold: float = 0.0
    max_conversation_turns: int = 50

    def __post_init__(self) -> None:
        if not self.openai_api_key:
            raise Misconfigured("OPENAI_API_KEY is not set.", advice="Set it in the environment or in .env.")
        if not self.openai_model.strip():
            raise Misconfigured("The model has no name.", advice="Set OPENAI_MODEL.")
        if not 1 <= self.top_k <= SEARCH_LIMIT_MAX:
            raise Misconfigured(f"top_k is {self.top_k}; it must be between 1 and {SEARCH_LIMIT_MAX}.")
        if not 0.0 <= self.score_threshold <= 1.0:
            raise Misconfigured(f"score_threshold is {self.score_threshold}; it must be between 0 and 1.")
        if self.max_conversation_turns < 1:
            raise Misconfigured(f"max_conversation_turns is {self.max_conversation_turns}; it must be 1 or more.")

    @classmethod
    def of(cls, settings: Settings) -> Self:
        key = settings.openai_api_key
        return cls(
            openai_api_key=key.get_secret_value() if key else "",
            openai_model=settings.openai_model,
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            max_conversation_turns=settings.agent_max_turns,
        )

    @classmethod
    def from_env(cls) -> Self:
        """From the environment, `.env` and `bookwise.toml`."""
        return cls.of(load_settings())
