"""The public shapes of OpenAI's chat completions and models: what is read of a request, and how a book answers."""

from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field, StrictBool

from bookwise.domain.answers import EngineName, Level
from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import LIVE_MESSAGES_MAX, ThreadMessage
from bookwise.schemas.answers import Outcome
from bookwise.schemas.wire import Shape

RULE = "\n\n---\n"  #: below it stands where an answer comes from
SOURCES = "**Sources:**"
CLOSEST = "**Closest in the book:**"


class Part(BaseModel):
    """A piece of a message that is not given as one string."""

    type: str
    text: str = ""


class CompletionInputMessage(BaseModel):
    """One message of the request; what is not text is refused when it is read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        foreign = sorted({part.type for part in self.content} - {"text", "input_text", "output_text", "refusal"})
        if foreign:
            raise InvalidInput(f"A message holds {', '.join(foreign)}; only text is read.", advice="Send text parts.")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    include_usage: StrictBool | None = None


class CompletionRequest(BaseModel):
    """What is read of a request. Temperature, tools, token limits and the like are accepted and have no effect."""

    model: str = Field(max_length=200, description="A book's id; `bookwise` for the only or the default book.")
    messages: list[CompletionInputMessage] = Field(min_length=1)
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    def split(self) -> tuple[str, list[ThreadMessage]]:
        """The last user's message, and what was said before it. Instructions are left out: the book answers."""
        said = [message for message in self.messages if message.role in ("user", "assistant")]
        while said and said[-1].role != "user":
            said.pop()
        if not said:
            raise InvalidInput("There is no message of the role user.", advice="Ask the question in one.")
        return said[-1].text, [_remembered(message) for message in said[:-1][-LIVE_MESSAGES_MAX:]]


def _remembered(message: CompletionInputMessage) -> ThreadMessage:
    """A message of the past; the list below an answer is no part of what was said."""
    text = message.text
    if message.role != "assistant":
        return ThreadMessage(role="user", content=text, timestamp=datetime.now(UTC))
    before, _, after = text.rpartition(RULE)
    is_ours = SOURCES in after or CLOSEST in after
    return ThreadMessage(role="assistant", content=before if is_ours else text, timestamp=datetime.now(UTC))


class ModelCard(Shape):
    """A book as a model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    name: str


class ModelList(Shape):
    """The books as models."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class UrlCitation(Shape):
    """Where the text cites a published place."""

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(Shape):
    type: Literal["url_citation"]
    url_citation: UrlCitation


class CompletionMessage(Shape):
    """The answer with its sources below."""

    role: Literal["assistant"]
    content: str
    refusal: str | None
    annotations: tuple[Annotation, ...]


class CompletionChoice(Shape):
    index: int
    message: CompletionMessage
    finish_reason: Literal["stop", "length", "content_filter"]
    logprobs: None


class CompletionUsage(Shape):
    """What a language model was asked for; zero without one."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionFacts(Shape):
    """What a program cannot read from the text."""

    answer_id: str
    outcome: Outcome
    reason: str | None
    confidence: Level
    engine: EngineName
    degraded: str | None


class ChatCompletion(Shape):
    """An answer as a chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: CompletionUsage
    bookwise: CompletionFacts
