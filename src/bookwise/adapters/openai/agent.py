"""A question into an answer by an agent that searches the book itself, with the OpenAI Agents SDK."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from agents import (
    Agent,
    AgentsException,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelSettings,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunResultStreaming,
    StreamEvent,
    ToolExecutionConfig,
    TResponseInputItem,
    UserError,
)
from openai.types.responses import ResponseCompletedEvent, ResponseFunctionToolCall, ResponseTextDeltaEvent

from bookwise.adapters.openai.agent_guardrails import Check, input_guardrail, output_guardrail
from bookwise.adapters.openai.agent_model import AgentEndpoint
from bookwise.adapters.openai.agent_tools import TOOL_SECONDS, BookSearch, search_started, unknown_tool
from bookwise.adapters.openai.client import ModelClient
from bookwise.adapters.openai.failures import Reason
from bookwise.answering.prompts import agent_instructions, recent
from bookwise.domain.answers import EngineName, SearchStarted, TextDelta
from bookwise.ports import AnswerTask, Written

MAX_TURNS = 8  #: calls of the model for one answer
SEARCHES_AT_ONCE = 2
HELD_BACK = 400  #: characters; what a model says before it searches on is shorter


class AgentAnswerer:
    """Keeps the promises of `Answerer`; the passages it needs it finds itself, with the task's `retrieve`.

    What a model says before a search is not part of its answer, and whether a search follows shows only at the end
    of its turn. So the first 400 characters of a turn are held back: most answers are checked as a whole before a
    word of them is shown, long ones stream.
    """

    name: EngineName = "agent"

    def __init__(
        self, client: ModelClient, *, input_check: Check | None = None, output_check: Check | None = None
    ) -> None:
        self._client = client
        self._input_guardrails = [input_guardrail(input_check)] if input_check else []
        self._output_guardrails = [output_guardrail(output_check)] if output_check else []

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        endpoint, speech = AgentEndpoint(self._client, task.deadline), AgentTranscript()
        run = self._run(task, endpoint)
        try:
            async with aclosing(_events(run)) as events:
                async for event in events:
                    for told in speech.heard(event):
                        yield told
        except UserError as error:
            raise error.__cause__ or error from None  # a mistake in what the tool calls is not the model's
        except AgentsException as error:
            raise self._client.failed(_reason(error)) from None
        if speech.held:
            yield TextDelta(text=speech.held)
        yield Written(usage=endpoint.usage, model=self._client.model, truncated=endpoint.truncated)

    def _run(self, task: AnswerTask, endpoint: AgentEndpoint) -> RunResultStreaming:
        left = task.deadline - self._client.patience.clock()
        search = BookSearch(task.retrieve, seconds=max(0.001, min(TOOL_SECONDS, left)))
        agent = Agent[None](
            name="Bookwise",
            instructions=agent_instructions(task.book.title),
            model=endpoint.model,
            model_settings=ModelSettings(temperature=task.temperature),
            tools=[*search.tools],
            input_guardrails=self._input_guardrails,
            output_guardrails=self._output_guardrails,
        )
        config = RunConfig(
            tracing_disabled=True,
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=SEARCHES_AT_ONCE),
            tool_not_found_behavior="return_error_to_model",
            tool_error_formatter=unknown_tool,
        )
        return Runner.run_streamed(agent, _items(task), max_turns=MAX_TURNS, run_config=config)


class AgentTranscript:
    """Which of the model's words are its answer."""

    def __init__(self) -> None:
        self.held = ""
        self._flows = False

    def heard(self, event: StreamEvent) -> list[TextDelta | SearchStarted]:
        """What to tell of this event."""
        if event.type == "raw_response_event":
            if isinstance(event.data, ResponseTextDeltaEvent):
                return self._said(event.data.delta)
            if isinstance(event.data, ResponseCompletedEvent):
                return self._turn_ended(event.data)
        elif event.type == "run_item_stream_event" and event.name == "tool_called":
            call = event.item.raw_item
            started = search_started(call) if isinstance(call, ResponseFunctionToolCall) else None
            return [started] if started else []
        return []

    def _said(self, text: str) -> list[TextDelta | SearchStarted]:
        self.held += text
        self._flows = self._flows or len(self.held) > HELD_BACK
        if not self._flows:
            return []
        text, self.held = self.held, ""
        return [TextDelta(text=text)]

    def _turn_ended(self, event: ResponseCompletedEvent) -> list[TextDelta | SearchStarted]:
        if not any(item.type == "function_call" for item in event.response.output):
            return []  # held until the answer as a whole has been checked
        flowed, self.held, self._flows = self._flows, "", False
        return [TextDelta(text="\n\n")] if flowed else []


async def _events(run: RunResultStreaming) -> AsyncGenerator[StreamEvent, None]:
    """The events of the run, which ends when nobody reads on."""
    events = cast(AsyncGenerator[StreamEvent, None], run.stream_events())
    try:
        async for event in events:
            yield event
    finally:
        if not run.is_complete:
            run.cancel()
        await events.aclose()


def _items(task: AnswerTask) -> list[TResponseInputItem]:
    items: list[Any] = [dict(message) for message in recent(task.history)]
    return [*items, {"role": "user", "content": task.question}]


def _reason(error: AgentsException) -> Reason:
    if isinstance(error, MaxTurnsExceeded):
        return "agent-loop-limit"
    if isinstance(error, InputGuardrailTripwireTriggered):
        return "guardrail-input"
    if isinstance(error, OutputGuardrailTripwireTriggered):
        return "guardrail-output"
    return "bad-response"
