"""An agent's tool calls → searches of the one book that its question is about."""

from typing import Any

from agents import FunctionTool, RunContextWrapper, ToolErrorFormatterArgs
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall

from bookwise.adapters.openai.agent_model import place_of
from bookwise.answering.retrieval_tool import (
    TOOL_ALIAS,
    TOOL_NAME,
    TOP_K,
    TOP_K_MAX,
    ToolArguments,
    preview,
    requested_query,
    retrieval_tool,
    run_retrieval_tool,
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
    """The retrieval tool of one run, under both names. The book is bound in `retrieve`, never taken from a call."""

    def __init__(self, retrieve: Retrieve, *, seconds: float, top_k: int = TOP_K) -> None:
        self._retrieve = retrieve
        self._seconds = seconds
        self._top_k = min(top_k, TOP_K_MAX)

    @property
    def tools(self) -> list[FunctionTool]:
        function = retrieval_tool(self._top_k)["function"]
        return [
            FunctionTool(
                name=name,
                description=function["description"],
                params_json_schema=function["parameters"],
                on_invoke_tool=self._invoke,
                strict_json_schema=False,  # a strict schema makes every argument required
                timeout_seconds=self._seconds,
                timeout_error_function=_timeout_error,
            )
            for name in (TOOL_NAME, TOOL_ALIAS)
        ]

    def search_started(self, call: ResponseFunctionToolCall) -> SearchStarted | None:
        """The event that announces a call to the reader; None for a call that is not run."""
        if place_of(call.call_id) >= CALLS_PER_TURN or call.name not in (TOOL_NAME, TOOL_ALIAS):
            return None
        try:
            arguments = tool_arguments(call.arguments, top_k=self._top_k)
        except InvalidInput:
            return None
        return SearchStarted(query=arguments.query, top_k=arguments.top_k)

    async def _invoke(self, context: ToolContext[Any], raw: str) -> str:
        if place_of(context.tool_call_id) >= CALLS_PER_TURN:
            return tool_error(
                f"The limit is {CALLS_PER_TURN} searches at once. Use their results.", requested_query(raw)
            )
        try:
            arguments = tool_arguments(raw, top_k=self._top_k)
        except InvalidInput as error:
            return tool_error(error.message, requested_query(raw))
        return await self._respond(arguments)

    async def _respond(self, arguments: ToolArguments) -> str:
        try:
            passages = await run_retrieval_tool(arguments, self._retrieve)
        except BookwiseError as error:
            return tool_error(error.message, arguments.query)
        return tool_response(passages, arguments.query)


def unknown_tool(failure: ToolErrorFormatterArgs[Any]) -> str | None:
    """The response to a call of a tool that does not exist."""
    if failure.kind != "tool_not_found":
        return None
    return tool_error(f"There is no tool {preview(failure.tool_name)}. Call {TOOL_NAME}.", "")


def _timeout_error(context: RunContextWrapper[Any], error: Exception) -> str:
    query = requested_query(context.tool_arguments) if isinstance(context, ToolContext) else ""
    return tool_error("The search timed out. Answer from the results so far, or search for something simpler.", query)
