"""An agent's tool calls into searches of the one book its question is about."""

from typing import Any

from agents import FunctionTool, RunContextWrapper, ToolErrorFormatterArgs
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall

from bookwise.adapters.openai.agent_model import place_of
from bookwise.answering.retrieval_tool import (
    RETRIEVAL_TOOL,
    TOOL_ALIAS,
    TOOL_NAME,
    ToolArguments,
    shown,
    tool_arguments,
    tool_error,
    tool_response,
)
from bookwise.domain.answers import SearchStarted
from bookwise.domain.errors import BookwiseError, InvalidInput
from bookwise.ports import Retrieve

CALLS_PER_TURN = 8
TOOL_SECONDS = 15.0


class BookSearch:
    """The tool of one run, under both its names. The book is bound in `retrieve`, never taken from a call."""

    def __init__(self, retrieve: Retrieve, *, seconds: float) -> None:
        self._retrieve = retrieve
        self._seconds = seconds

    @property
    def tools(self) -> list[FunctionTool]:
        function = RETRIEVAL_TOOL["function"]
        return [
            FunctionTool(
                name=name,
                description=function["description"],
                params_json_schema=function["parameters"],
                on_invoke_tool=self._search,
                strict_json_schema=False,  # a strict schema makes every argument required
                timeout_seconds=self._seconds,
                timeout_error_function=_too_slow,
            )
            for name in (TOOL_NAME, TOOL_ALIAS)
        ]

    async def _search(self, context: ToolContext[Any], raw: str) -> str:
        if place_of(context.tool_call_id) >= CALLS_PER_TURN:
            return tool_error(f"At most {CALLS_PER_TURN} searches are made at once. Use what they found.", "")
        try:
            arguments = tool_arguments(raw)
        except InvalidInput as error:
            return tool_error(error.message, "")
        return await self._found(arguments)

    async def _found(self, asked: ToolArguments) -> str:
        try:
            passages = await self._retrieve(asked.query, asked.top_k, asked.similarity_threshold)
        except BookwiseError as error:
            return tool_error(error.message, asked.query)
        return tool_response(passages, asked.query)


def search_started(call: ResponseFunctionToolCall) -> SearchStarted | None:
    """What a reader is told of a call: nothing when it is not carried out."""
    if place_of(call.call_id) >= CALLS_PER_TURN or call.name not in (TOOL_NAME, TOOL_ALIAS):
        return None
    try:
        arguments = tool_arguments(call.arguments)
    except InvalidInput:
        return None
    return SearchStarted(query=arguments.query, top_k=arguments.top_k)


def unknown_tool(failure: ToolErrorFormatterArgs[Any]) -> str | None:
    """What a model reads that called a tool nobody gave it."""
    if failure.kind != "tool_not_found":
        return None
    return tool_error(f"There is no tool {shown(failure.tool_name)}. Call {TOOL_NAME}.", "")


def _too_slow(context: RunContextWrapper[Any], error: Exception) -> str:
    return tool_error("The search took too long. Answer from what was found, or search for something simpler.", "")
