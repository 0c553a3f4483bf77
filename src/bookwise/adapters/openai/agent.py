"""The engine `agent`: an agent of the OpenAI Agents SDK searches the book itself and answers."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

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
    UserError,
)
from openai.types.responses import ResponseCompletedEvent, ResponseFunctionToolCall, ResponseTextDeltaEvent

from bookwise.adapters.openai.agent_guardrails import Check, input_guardrail, output_guardrail
from bookwise.adapters.openai.agent_model import AgentEndpoint
from bookwise.adapters.openai.agent_tools import TOOL_SECONDS, BookSearch, unknown_tool
from bookwise.adapters.openai.client import ModelClient
from bookwise.adapters.openai.failures import Reason
from bookwise.adapters.openai.session import ThreadSession
from bookwise.answering.prompts import agent_instructions
from bookwise.domain.answers import EngineName, SearchStarted, TextDelta
from bookwise.ports import AnswerTask, Written

MAX_TURNS = 8  #: model calls for one answer
SEARCHES_AT_ONCE = 2
HOLD_BACK_MAX = 400  #: characters; text before another search is shorter


class AgentAnswerer:
    """An `Answerer` that finds its passages itself, with the task's `retrieve`.

    Text that a model writes before a search is not part of the answer, and whether a search follows is only known at
    the end of the turn. So the first 400 characters of a turn are held back: most answers are checked as a whole
    before they are shown, and long ones stream.
    """

    name: EngineName = "agent"

    def __init__(
        self, client: ModelClient, *, input_check: Check | None = None, output_check: Check | None = None
    ) -> None:
        self._client = client
        self._input_guardrails = [input_guardrail(input_check)] if input_check else []
        self._output_guardrails = [output_guardrail(output_check)] if output_check else []

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        endpoint = AgentEndpoint(self._client, task.deadline)
        left = task.deadline - self._client.timeouts.clock()
        search = BookSearch(task.retrieve, seconds=max(0.001, min(TOOL_SECONDS, left)), top_k=task.top_k)
        transcript = AgentTranscript(search)
        run = self._run(task, endpoint, search)
        try:
            async with aclosing(_events(run)) as events:
                async for event in events:
                    for output in transcript.read(event):
                        yield output
        except UserError as error:
            raise error.__cause__ or error from None  # a bug in our tool is not the model's failure
        except AgentsException as error:
            raise self._client.failed(_reason(error)) from None
        if transcript.pending:
            yield TextDelta(text=transcript.pending)
        yield Written(usage=endpoint.usage, model=self._client.model, truncated=endpoint.truncated)

    def _run(self, task: AnswerTask, endpoint: AgentEndpoint, search: BookSearch) -> RunResultStreaming:
        agent = Agent[None](
            name="Bookwise",
            instructions=agent_instructions(task.book.title, task.system_prompt),
            model=endpoint.model,
            model_settings=ModelSettings(temperature=task.temperature, max_tokens=task.max_tokens),
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
        session = ThreadSession(task.history)
        return Runner.run_streamed(agent, task.question, session=session, max_turns=MAX_TURNS, run_config=config)


class AgentTranscript:
    """The events of a run → the text that belongs to the answer, and the searches."""

    def __init__(self, search: BookSearch) -> None:
        self.pending = ""  #: text that may turn out not to be part of the answer
        self._search = search
        self._streams = False

    def read(self, event: StreamEvent) -> list[TextDelta | SearchStarted]:
        """The part of this event that the reader sees."""
        if event.type == "raw_response_event":
            if isinstance(event.data, ResponseTextDeltaEvent):
                return self._add(event.data.delta)
            if isinstance(event.data, ResponseCompletedEvent):
                return self._end_turn(event.data)
        elif event.type == "run_item_stream_event" and event.name == "tool_called":
            call = event.item.raw_item
            started = self._search.search_started(call) if isinstance(call, ResponseFunctionToolCall) else None
            return [started] if started else []
        return []

    def _add(self, text: str) -> list[TextDelta | SearchStarted]:
        self.pending += text
        self._streams = self._streams or len(self.pending) > HOLD_BACK_MAX
        if not self._streams:
            return []
        text, self.pending = self.pending, ""
        return [TextDelta(text=text)]

    def _end_turn(self, event: ResponseCompletedEvent) -> list[TextDelta | SearchStarted]:
        if not any(item.type == "function_call" for item in event.response.output):
            return []  # held back until the whole answer has been checked
        streamed, self.pending, self._streams = self._streams, "", False
        return [TextDelta(text="\n\n")] if streamed else []


async def _events(run: RunResultStreaming) -> AsyncGenerator[StreamEvent, None]:
    """The events of the run; the run is cancelled when the reader stops."""
    events = cast(AsyncGenerator[StreamEvent, None], run.stream_events())
    try:
        async for event in events:
            yield event
    finally:
        if not run.is_complete:
            run.cancel()
        await events.aclose()


def _reason(error: AgentsException) -> Reason:
    if isinstance(error, MaxTurnsExceeded):
        return "agent-loop-limit"
    if isinstance(error, InputGuardrailTripwireTriggered):
        return "guardrail-input"
    if isinstance(error, OutputGuardrailTripwireTriggered):
        return "guardrail-output"
    return "bad-response"
