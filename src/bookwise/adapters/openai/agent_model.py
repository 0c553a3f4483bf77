"""Requests of the Agents SDK → calls of our model client; the parts of its response → chunks of the SDK."""

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

TOOL_NAME_MAX = 64  #: characters of an invented tool name


class AgentEndpoint:
    """Stands in for the SDK's OpenAI client during one run, and counts the run's usage."""

    def __init__(self, client: ModelClient, deadline: float) -> None:
        self.base_url = client.base_url
        self.chat = self.completions = self
        self.usage = Usage()
        self.truncated = False  #: whether the newest answer hit the limit
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
        max_tokens: int | Omit,
        **unused: object,
    ) -> AsyncIterator[ChatCompletionChunk]:
        """The response as chunks. Other SDK options are dropped: `store` would keep the questions."""
        valid = [with_valid_arguments(message) for message in messages]
        options = {"tools": tools, "temperature": temperature, "max_tokens": max_tokens}
        call = ModelCall(
            messages=lambda: valid,
            shorter=lambda: shorter_messages(valid),
            deadline=self._deadline,
            options={name: value for name, value in options.items() if not isinstance(value, Omit)},
        )
        return self._chunks(call)

    async def _chunks(self, call: ModelCall) -> AsyncIterator[ChatCompletionChunk]:
        before, self.truncated = self.usage, False
        ids = CallIds(before.calls)
        self.usage = add_usage(before, Usage(calls=1))
        async with aclosing(self._client.parts(call)) as parts:
            async for part in parts:
                if part.usage is not None:
                    self.usage = add_usage(before, part.usage)
                self.truncated = self.truncated or part.finish == "limit"
                yield chunk_of(part, model=self._client.model, ids=ids)


def add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        calls=one.calls + other.calls,
    )


class CallIds:
    """Our own ids for the tool calls of one answer, by position: servers repeat ids, or send none."""

    def __init__(self, answer: int) -> None:
        self._answer = answer
        self._places: dict[int, int] = {}

    def id(self, index: int) -> str:
        place = self._places.setdefault(index, len(self._places))
        return f"call_{self._answer}_{place}"


def place_of(call_id: str) -> int:
    """The position of a call among those of its answer, from 0."""
    return int(call_id.rpartition("_")[2])


def chunk_of(part: ResponsePart, *, model: str, ids: CallIds) -> ChatCompletionChunk:
    """The part in the SDK's format."""
    calls = [
        ChoiceDeltaToolCall(
            index=call.index,
            id=ids.id(call.index),
            type="function",
            function=ChoiceDeltaToolCallFunction(name=call.name or None, arguments=call.arguments),
        )
        for call in part.calls
    ]
    delta = ChoiceDelta(content=part.text or None, tool_calls=calls or None)
    choice = Choice(index=0, delta=delta, finish_reason="stop" if part.finish else None)
    return ChatCompletionChunk(id="answer", object="chat.completion.chunk", created=0, model=model, choices=[choice])


def with_valid_arguments(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with empty arguments in place of invalid ones: many servers parse them and reject the request,
    and invalid ones would be repeated to the model in full."""
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
    """The messages without the thread before the question, and with the better half of each search's results."""
    newest = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
    remaining = [message for at, message in enumerate(messages) if at >= newest or message["role"] == "system"]
    return [
        {**message, "content": fewer_results(message["content"])} if message["role"] == "tool" else dict(message)
        for message in remaining
    ]
