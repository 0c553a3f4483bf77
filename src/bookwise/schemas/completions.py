"""Public JSON objects of the OpenAI-compatible API: chat completions and models."""

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field, StrictBool

from bookwise.domain.answers import EngineName, Level
from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import LIVE_MESSAGES_MAX, ThreadMessage
from bookwise.schemas.answers import HighlightRange, Outcome, RelatedLink
from bookwise.schemas.wire import EXAMPLE_ANSWER_ID, EXAMPLE_BOOK_ID, Shape, examples

RULE = "\n\n---\n"  #: separates the answer from the list of its sources
SOURCES = "**Sources:**"
CLOSEST = "**Closest in the book:**"


TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
ANY_BOOK = "bookwise"  #: the model name of the only or the default book


class Part(BaseModel):
    """One part of a message whose content is a list."""

    type: str
    text: str = ""


class CompletionInputMessage(BaseModel):
    """One message of the request. Reading `text` raises `InvalidInput` when a part is not text."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        unsupported = sorted({part.type for part in self.content} - TEXT_PARTS)
        if unsupported:
            raise InvalidInput(
                f"A message contains {', '.join(unsupported)}. Only text is supported.", advice="Send text parts."
            )
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    include_usage: StrictBool | None = None


class CompletionRequest(BaseModel):
    """A chat completion request. Other parameters (temperature, tools, token limits) are accepted and ignored."""

    model_config = examples({"model": ANY_BOOK, "messages": [{"role": "user", "content": "What is a node?"}]})

    model: str = Field(max_length=200, description="A book id, or `bookwise` for the only or the default book.")
    messages: list[CompletionInputMessage] = Field(min_length=1)
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    def split(self) -> tuple[str, list[ThreadMessage]]:
        """The last user message, and the messages before it. System messages are ignored: only the book answers."""
        turns = [message for message in self.messages if message.role in ("user", "assistant")]
        while turns and turns[-1].role != "user":
            turns.pop()
        if not turns:
            raise InvalidInput("There is no user message.", advice="Send the question as a message with role user.")
        return turns[-1].text, [_history_message(message) for message in turns[:-1][-LIVE_MESSAGES_MAX:]]


def _history_message(message: CompletionInputMessage) -> ThreadMessage:
    """An earlier message, without the list of sources that we appended to an answer."""
    text = message.text
    if message.role != "assistant":
        return ThreadMessage(role="user", content=text, timestamp=datetime.now(UTC))
    answer, _, appended = text.rpartition(RULE)
    has_sources = SOURCES in appended or CLOSEST in appended
    return ThreadMessage(role="assistant", content=answer if has_sources else text, timestamp=datetime.now(UTC))


MODEL_EXAMPLE: dict[str, Any] = {
    "id": EXAMPLE_BOOK_ID,
    "object": "model",
    "created": 1774785600,
    "owned_by": ANY_BOOK,
    "name": "Physical AI",
}


class ModelCard(Shape):
    """A book as a model."""

    model_config = examples(MODEL_EXAMPLE)

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    name: str


class ModelList(Shape):
    """The books as models."""

    model_config = examples({"object": "list", "data": [MODEL_EXAMPLE]})

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class UrlCitation(Shape):
    """A citation in the text, with the page it points to."""

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(Shape):
    type: Literal["url_citation"]
    url_citation: UrlCitation


class CompletionMessage(Shape):
    """The answer, followed by a list of its sources."""

    role: Literal["assistant"]
    content: str
    refusal: str | None = None
    annotations: tuple[Annotation, ...]


class CompletionChoice(Shape):
    index: int
    message: CompletionMessage
    finish_reason: Literal["stop", "length", "content_filter"]
    logprobs: None = None


class CompletionUsage(Shape):
    """Tokens used by the language model; 0 without one."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionFacts(Shape):
    """Facts about the answer that OpenAI's format has no field for."""

    answer_id: str
    outcome: Outcome
    reason: str | None = None
    confidence: Level
    engine: EngineName
    degraded: str | None = None
    highlights: tuple[HighlightRange, ...] = Field(
        default=(), description="The parts of the content that answer the question, in order."
    )
    related: tuple[RelatedLink, ...] = Field(default=(), description="At most three other sections, best first.")


class ChatCompletion(Shape):
    """An answer as a chat completion."""

    model_config = examples(
        {
            "id": "chatcmpl-6f1d7c0a2b3e4d5f8a9b0c1d2e3f4a5b",
            "object": "chat.completion",
            "created": 1774785600,
            "model": EXAMPLE_BOOK_ID,
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "A node is a process that performs computation. [1]"
                        "\n\n---\n**Sources:**\n\n- [1] [Nodes](<https://book.example/ros2/nodes>)",
                        "refusal": None,
                        "annotations": [
                            {
                                "type": "url_citation",
                                "url_citation": {
                                    "start_index": 47,
                                    "end_index": 50,
                                    "title": "Nodes",
                                    "url": "https://book.example/ros2/nodes",
                                },
                            }
                        ],
                    },
                    "finish_reason": "stop",
                    "logprobs": None,
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            "bookwise": {
                "answer_id": EXAMPLE_ANSWER_ID,
                "outcome": "answered",
                "reason": None,
                "confidence": "medium",
                "engine": "extractive",
                "degraded": None,
                "highlights": [{"start": 0, "end": 46}],
                "related": [],
            },
        }
    )

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: CompletionUsage
    bookwise: CompletionFacts
