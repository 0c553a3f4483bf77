"""The public shapes of the terminal agent: configuration, conversation state, retrieval tool and its response."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import SecretStr

from bookwise.adapters.openai.key import require_key
from bookwise.answering.evidence.confidence import mean
from bookwise.answering.prompts import AGENT_INSTRUCTIONS
from bookwise.answering.retrieval_tool import RETRIEVAL_TOOL, TOOL_NAME, ToolArguments, tool_error
from bookwise.domain.answers import Passage
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.schemas import locations
from bookwise.schemas.turns import ROLES, TurnRole, require_turns
from bookwise.schemas.wire import new_id, now
from bookwise.settings import OPENAI_URL, Settings, load_settings

__all__ = [
    "RETRIEVAL_TOOL",
    "AgentConfiguration",
    "ConversationState",
    "Message",
    "RetrievalResult",
    "ToolCall",
    "ToolResponse",
    "format_tool_response",
]

TURNS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfiguration:
    """How the agent behaves, and which model it is."""

    model: str = "gpt-4o-mini"
    system_prompt: str = AGENT_INSTRUCTIONS
    temperature: float = 0.0
    max_tokens: int | None = None
    openai_api_key: str = field(repr=False)
    base_url: str = OPENAI_URL

    def __post_init__(self) -> None:
        if not self.model or self.model.split() != [self.model]:
            raise Misconfigured(f"{self.model!r} is no name of a model.", advice="Set OPENAI_MODEL.")
        if not self.system_prompt.strip():
            raise Misconfigured("The system prompt is empty.")
        if not 0.0 <= self.temperature <= 1.0:
            raise Misconfigured(f"temperature is {self.temperature}; it must be between 0 and 1.")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise Misconfigured(f"max_tokens is {self.max_tokens}; it must be 1 or more.")
        _require_key(self.openai_api_key, self.base_url)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        key = settings.openai_api_key
        return cls(
            model=settings.openai_model,
            openai_api_key=key.get_secret_value() if key else "",
            base_url=settings.openai_base_url,
        )

    @classmethod
    def from_env(cls) -> Self:
        """From the environment, `.env` and `bookwise.toml`."""
        return cls.of(load_settings())


def _require_key(key: str, base_url: str) -> None:
    if not key:
        raise Misconfigured("OPENAI_API_KEY is not set.", advice="Set it in the environment or in .env.")
    require_key(SecretStr(key), base_url)


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A retrieved chunk."""

    query_id: str
    chunk_text: str
    source_url: str
    page_title: str
    section_heading: str | None
    breadcrumb: str | None
    chunk_index: int
    similarity_score: float
    metadata: dict[str, Any]
    rank: int

    @classmethod
    def of(cls, passage: Passage, *, rank: int, query_id: str = "") -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            query_id=query_id,
            chunk_text=chunk.text,
            source_url=locations.address(where),
            page_title=where.page_title,
            section_heading=where.section_title,
            breadcrumb=locations.trail(where) or None,
            chunk_index=chunk.index,
            similarity_score=passage.score,
            metadata=_metadata(passage),
            rank=rank,
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
        "hardware_tier": audience.hardware_tier,
        "proficiency_level": audience.proficiency_level,
        "layer": audience.layer,
        "cosine": passage.cosine,
        "lexical": passage.lexical,
    }


def format_tool_response(results: Sequence[RetrievalResult], query: str) -> str:
    """The results as JSON for an agent."""
    return json.dumps(
        {
            "results": [
                {
                    "chunk_text": r.chunk_text,
                    "page_title": r.page_title,
                    "section_heading": r.section_heading,
                    "source_url": r.source_url,
                    "similarity_score": r.similarity_score,
                    "rank": r.rank,
                }
                for r in results
            ],
            "total_results": len(results),
            "query": query,
        },
        indent=2,
    )


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """What the retrieval tool brought: results, or an error and none."""

    results: list[RetrievalResult]
    total_results: int
    query: str
    error: str | None = None

    def __post_init__(self) -> None:
        if self.error is not None and self.results:
            raise InvalidInput("A tool response with an error has no results.")
        if self.total_results != len(self.results):
            raise InvalidInput(f"total_results is {self.total_results}, but there are {len(self.results)} results.")
        for result in self.results:
            _require_complete(result)

    def to_json(self) -> str:
        if self.error is not None:
            return tool_error(self.error, self.query)
        return format_tool_response(self.results, self.query)

    @classmethod
    def of(cls, passages: Sequence[Passage], *, query: str, query_id: str = "") -> Self:
        results = [RetrievalResult.of(p, rank=rank, query_id=query_id) for rank, p in enumerate(passages, 1)]
        return cls(results=results, total_results=len(results), query=query)

    @classmethod
    def failed(cls, error: str, *, query: str) -> Self:
        return cls(results=[], total_results=0, query=query, error=error)


def _require_complete(result: RetrievalResult) -> None:
    for name in ("chunk_text", "page_title", "source_url"):
        if not getattr(result, name).strip():
            raise InvalidInput(f"Result {result.rank} has no {name}.")
    if not 0.0 <= result.similarity_score <= 1.0:
        raise InvalidInput(f"similarity_score is {result.similarity_score}; it must be between 0 and 1.")
    if result.rank < 1:
        raise InvalidInput(f"rank is {result.rank}; ranks count from 1.")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation."""

    role: TurnRole
    content: str
    name: str | None = None  #: of the tool, in its own messages
    tool_calls: list[dict[str, Any]] | None = None
    timestamp: datetime = field(default_factory=now)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"The role is {self.role!r}; allowed: {', '.join(ROLES)}.")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One retrieval, as the history keeps it."""

    tool_name: str
    query: str
    results_count: int
    avg_similarity: float
    timestamp: datetime = field(default_factory=now)


@dataclass(slots=True)
class ConversationState:
    """A conversation in memory; its methods are the steps of one turn, in order."""

    session_id: str = field(default_factory=new_id)
    messages: list[Message] = field(default_factory=lambda: [Message("system", AGENT_INSTRUCTIONS)])
    retrieval_history: list[ToolCall] = field(default_factory=list)
    started_at: datetime = field(default_factory=now)
    turn_count: int = 0  #: questions asked and answered
    max_turns: int = TURNS_MAX

    def __post_init__(self) -> None:
        try:
            UUID(self.session_id)
        except ValueError:
            raise InvalidInput(f"The session id {self.session_id!r} is no UUID.") from None
        if not self.messages:
            raise InvalidInput("A conversation must start with a system message.")
        require_turns(self.messages)
        if self.max_turns < 1:
            raise InvalidInput(f"max_turns is {self.max_turns}; it must be 1 or more.")
        if not 0 <= self.turn_count <= self.max_turns:
            raise InvalidInput(f"turn_count is {self.turn_count}; it must be between 0 and {self.max_turns}.")

    def ask(self, text: str) -> None:
        """The user asks."""
        if not text.strip():
            raise InvalidInput("The question is empty.", advice="Ask something about the book.")
        if self.turn_count >= self.max_turns:
            raise InvalidInput(
                f"This conversation has had its {self.max_turns} turns.",
                advice="Begin a new one, or allow more turns.",
            )
        self._append(Message("user", text))

    def record_tool_call(self, query: str, *, top_k: int = 5, similarity_threshold: float = 0.0) -> None:
        """The agent requests the tool."""
        asked = ToolArguments(query=query, top_k=top_k, similarity_threshold=similarity_threshold)
        arguments = {"query": asked.query, "top_k": asked.top_k, "similarity_threshold": asked.similarity_threshold}
        function = {"name": TOOL_NAME, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{len(self.retrieval_history) + 1}", "type": "function", "function": function}
        self._append(Message("assistant", "", tool_calls=[call]))

    def tool_result(self, response: ToolResponse) -> None:
        """The tool has searched; the history keeps how well."""
        self._append(Message("tool", response.to_json(), name=TOOL_NAME))
        similarity = mean([result.similarity_score for result in response.results])
        self.retrieval_history.append(ToolCall(TOOL_NAME, response.query, response.total_results, similarity))

    def answer(self, text: str) -> None:
        """The agent responds, and the turn is over."""
        self._append(Message("assistant", text))
        self.turn_count += 1

    def _append(self, message: Message) -> None:
        require_turns([*self.messages, message])
        self.messages.append(message)
