"""The public objects of the agent: configuration, conversation state, and the response of its retrieval tool."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator

from bookwise.adapters.openai.key import require_key
from bookwise.answering.evidence.confidence import mean
from bookwise.answering.prompts import AGENT_INSTRUCTIONS
from bookwise.answering.retrieval_tool import (
    RETRIEVAL_TOOL,
    TOOL_NAME,
    TOP_K_MAX,
    ToolArguments,
    format_tool_response,
    tool_error,
)
from bookwise.domain.answers import QUESTION_MAX, Passage
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.schemas.library import (
    DEFAULT_MODEL,
    MIN_RELEVANCE_SCORE,
    LibraryShape,
    Message,
    RetrievalResult,
    explain,
)
from bookwise.schemas.turns import require_turns
from bookwise.schemas.wire import Similarity, new_id, now
from bookwise.settings import ASK_TEMPERATURE, OPENAI_URL, Settings, load_settings

__all__ = [
    "RETRIEVAL_TOOL",
    "AgentConfig",
    "AgentConfiguration",
    "ConversationState",
    "ToolCall",
    "ToolResponse",
    "format_tool_response",
]

TURNS_MAX = 20

#: The setting behind each field of the configuration.
SETTINGS = {
    "model": "openai_model",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "top_k": "agent_top_k",
    "score_threshold": "agent_score_threshold",
    "min_relevance_score": "min_relevance_score",
    "max_conversation_turns": "agent_max_turns",
    "openai_api_key": "openai_api_key",
    "base_url": "openai_base_url",
}


class AgentConfig(LibraryShape):
    """How questions are answered. Without a key Bookwise quotes the book and calls no model."""

    model: str = Field(default=DEFAULT_MODEL, validation_alias=AliasChoices("model", "openai_model"))
    system_prompt: str = Field(default=AGENT_INSTRUCTIONS, description="The rules of the engine `agent`.")
    temperature: float = Field(default=ASK_TEMPERATURE, ge=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, description="Longest answer; None: the model's own limit.")
    top_k: int = Field(default=5, ge=1, le=SEARCH_LIMIT_MAX)
    score_threshold: Similarity = 0.0
    min_relevance_score: Similarity = MIN_RELEVANCE_SCORE
    max_conversation_turns: int = Field(default=50, ge=1, le=1_000)
    openai_api_key: str | None = Field(default=None, repr=False)
    base_url: str = Field(default=OPENAI_URL, validation_alias=AliasChoices("base_url", "openai_base_url"))

    @field_validator("model")
    @classmethod
    def _require_name(cls, model: str) -> str:
        if model.split() != [model]:
            raise ValueError(f"{model!r} is not a model name")
        return model

    @field_validator("system_prompt")
    @classmethod
    def _require_prompt(cls, system_prompt: str) -> str:
        if not system_prompt.strip():
            raise ValueError("must not be empty")
        return system_prompt

    @model_validator(mode="after")
    def _require_usable_key(self) -> Self:
        if self.openai_api_key is not None:
            require_key(SecretStr(self.openai_api_key), self.base_url)
        return self

    @classmethod
    def _error(cls, error: ValidationError) -> Misconfigured:
        return Misconfigured(explain(cls.__name__, error), advice="Correct the value, or leave it out.")

    @property
    def openai_model(self) -> str:
        return self.model

    @classmethod
    def of(cls, settings: Settings) -> Self:
        key = settings.openai_api_key
        return cls(
            model=settings.openai_model,
            temperature=ASK_TEMPERATURE if settings.temperature is None else settings.temperature,
            max_tokens=settings.max_tokens,
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            min_relevance_score=settings.min_relevance_score,
            max_conversation_turns=settings.agent_max_turns,
            openai_api_key=key.get_secret_value() if key else None,
            base_url=settings.openai_base_url,
        )

    @classmethod
    def from_env(cls) -> Self:
        """The configuration of the environment, `.env` and `bookwise.toml`."""
        return cls.of(load_settings())

    def settings(self) -> Settings:
        """The settings of the environment, overridden by the fields that were given to this configuration."""
        values: dict[str, Any] = {SETTINGS[name]: getattr(self, name) for name in self.model_fields_set & set(SETTINGS)}
        return replace(load_settings(), **values)


AgentConfiguration = AgentConfig  #: the longer name of the same object


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """The response of the retrieval tool: results, or an error without results."""

    results: list[RetrievalResult]
    total_results: int
    query: str
    error: str | None = None

    def __post_init__(self) -> None:
        if self.error is not None and self.results:
            raise InvalidInput("A tool response with an error must have no results.")
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


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One retrieval, as the conversation's history records it."""

    tool_name: str
    query: str
    results_count: int
    avg_similarity: float
    timestamp: datetime = field(default_factory=now)


@dataclass(slots=True)
class ConversationState:
    """A conversation in memory. `ask`, `record_tool_call`, `tool_result` and `answer` are the steps of one turn."""

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
            raise InvalidInput(f"The session id {self.session_id!r} is not a UUID.") from None
        if not self.messages:
            raise InvalidInput("A conversation must start with a system message.")
        require_turns(self.messages)
        if self.max_turns < 1:
            raise InvalidInput(f"max_turns is {self.max_turns}; it must be 1 or more.")
        if not 0 <= self.turn_count <= self.max_turns:
            raise InvalidInput(f"turn_count is {self.turn_count}; it must be between 0 and {self.max_turns}.")

    @property
    def is_full(self) -> bool:
        return self.turn_count >= self.max_turns

    def ask(self, text: str) -> None:
        """Appends the user's question; `InvalidInput` after the last turn."""
        if not text.strip():
            raise InvalidInput("The question is empty.", advice="Ask something about the book.")
        if self.is_full:
            raise InvalidInput(
                f"The conversation has reached its limit of {self.max_turns} turns.",
                advice="Start a new conversation, or allow more turns.",
            )
        self._append(Message("user", text))

    def record_tool_call(self, query: str, *, top_k: int = 5, similarity_threshold: float = 0.0) -> None:
        """Appends the agent's request to run the tool."""
        call = ToolArguments(query=query, top_k=top_k, similarity_threshold=similarity_threshold)
        arguments = {"query": call.query, "top_k": call.top_k, "similarity_threshold": call.similarity_threshold}
        function = {"name": TOOL_NAME, "arguments": json.dumps(arguments)}
        tool_call = {"id": f"call_{len(self.retrieval_history) + 1}", "type": "function", "function": function}
        self._append(Message("assistant", "", tool_calls=[tool_call]))

    def tool_result(self, response: ToolResponse) -> None:
        """Appends the tool's response and records the retrieval with its average similarity."""
        self._append(Message("tool", response.to_json(), tool_call_id=self._open_call, name=TOOL_NAME))
        similarity = mean([result.similarity_score for result in response.results])
        self.retrieval_history.append(ToolCall(TOOL_NAME, response.query, response.total_results, similarity))

    def answer(self, text: str, *, complete: bool = True) -> None:
        """Appends the agent's answer and ends the turn."""
        self._append(Message("assistant", text, complete=complete))
        self.turn_count += 1

    def record_retrieval(self, passages: Sequence[Passage], *, query: str, top_k: int) -> None:
        """Appends a retrieval that has already run: the request and its response."""
        query = query[:QUESTION_MAX]  # a follow-up with its references resolved may be longer than a question
        self.record_tool_call(query, top_k=min(top_k, TOP_K_MAX))
        self.tool_result(ToolResponse.of(passages, query=query))

    @property
    def _open_call(self) -> str | None:
        calls = [call["id"] for message in self.messages for call in message.tool_calls or ()]
        return calls[-1] if calls else None

    def _append(self, message: Message) -> None:
        require_turns([*self.messages, message])
        self.messages.append(message)
