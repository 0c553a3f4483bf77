"""What the Agents SDK wants to send into calls of the one client, and the pieces back into its chunks."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from agents import OpenAIChatCompletionsModel
from openai import AsyncOpenAI, Omit
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import (
    Choice,
    ChoiceDelta,
    ChoiceDeltaToolCall,
    ChoiceDeltaToolCallFunction,
)

from bookwise.adapters.openai.client import Messages, ModelCall, ModelClient
from bookwise.adapters.openai.response_parts import ResponsePart
from bookwise.answering.retrieval_tool import fewer_results, tool_arguments
from bookwise.domain.answers import Usage
from bookwise.domain.errors import InvalidInput

TOOL_NAME_MAX = 64  #: of a tool that was made up


class AgentEndpoint:
    """Looks to the SDK like the OpenAI client of one run, and counts what the run costs."""

    def __init__(self, client: ModelClient, deadline: float) -> None:
        self.base_url = client.base_url
        self.chat = self.completions = self
        self.usage = Usage()
        self.truncated = False  #: the newest answer
        self._client = client
        self._deadline = deadline

    @property
    def model(self) -> OpenAIChatCompletionsModel:
        return OpenAIChatCompletionsModel(self._client.model, cast(AsyncOpenAI, self))

    async def create(
        self,
        *,
        messages: Messages,
        tools: Sequence[Mapping[str, Any]] | Omit,
        temperature: float | Omit,
        **unused: object,
    ) -> AsyncIterator[ChatCompletionChunk]:
        """The answer as chunks. The rest of what the SDK would send is left out: `store` would keep what is asked."""
        tidy = [with_valid_arguments(message) for message in messages]
        options = {"tools": tools, "temperature": temperature}
        call = ModelCall(
            messages=lambda: tidy,
            shorter=lambda: shorter_messages(tidy),
            deadline=self._deadline,
            options={name: value for name, value in options.items() if not isinstance(value, Omit)},
        )
        return self._chunks(call)

    async def _chunks(self, call: ModelCall) -> AsyncIterator[ChatCompletionChunk]:
        before, self.truncated = self.usage, False
        ids = CallIds(before.calls)
        self.usage = together(before, Usage(calls=1))
        async with aclosing(self._client.pieces(call)) as pieces:
            async for piece in pieces:
                if piece.usage is not None:
                    self.usage = together(before, piece.usage)
                self.truncated = self.truncated or piece.finish == "limit"
                yield chunk_of(piece, model=self._client.model, ids=ids)


def together(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        calls=one.calls + other.calls,
    )


class CallIds:
    """Ids of the calls in one answer, which say the place of each: servers repeat their own ids, or send none."""

    def __init__(self, answer: int) -> None:
        self._answer = answer
        self._places: dict[int, int] = {}

    def id(self, index: int) -> str:
        place = self._places.setdefault(index, len(self._places))
        return f"call_{self._answer}_{place}"


def place_of(call_id: str) -> int:
    """The place of a call among those of its answer, from 0."""
    return int(call_id.rpartition("_")[2])


def chunk_of(piece: ResponsePart, *, model: str, ids: CallIds) -> ChatCompletionChunk:
    """The piece as the SDK reads it."""
    calls = [
        ChoiceDeltaToolCall(
            index=call.index,
            id=ids.id(call.index),
            type="function",
            function=ChoiceDeltaToolCallFunction(name=call.name or None, arguments=call.arguments),
        )
        for call in piece.calls
    ]
    delta = ChoiceDelta(content=piece.text or None, tool_calls=calls or None)
    choice = Choice(index=0, delta=delta, finish_reason="stop" if piece.finish else None)
    return ChatCompletionChunk(id="answer", object="chat.completion.chunk", created=0, model=model, choices=[choice])


def with_valid_arguments(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with empty arguments in place of what is no JSON object: many servers parse what they are sent,
    and nonsense would be repeated to the model at full length."""
    calls = message.get("tool_calls")
    if not calls:
        return dict(message)
    return {**message, "tool_calls": [_with_valid_arguments(call) for call in calls]}


def _with_valid_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        tool_arguments(function["arguments"])
    except InvalidInput:
        function = {"name": function["name"][:TOOL_NAME_MAX], "arguments": "{}"}
    return {**call, "function": function}


def shorter_messages(messages: Messages) -> list[dict[str, Any]]:
    """The same without the thread before the question, and with the better half of what each search found."""
    newest = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
    kept = [message for at, message in enumerate(messages) if at >= newest or message["role"] == "system"]
    return [
        {**message, "content": fewer_results(message["content"])} if message["role"] == "tool" else dict(message)
        for message in kept
    ]
