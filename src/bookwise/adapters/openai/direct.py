"""The engine `direct`: passages in the prompt and one model call. Also rewrites follow-ups as stand-alone questions."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from bookwise.adapters.openai.client import ModelCall, ModelClient
from bookwise.adapters.openai.failures import unavailable
from bookwise.answering.prompts import direct_messages, rewrite_messages, shorter_direct_messages
from bookwise.domain.answers import EngineName, SearchStarted, TextDelta, Usage
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import AnswerTask, Written

REWRITE_WITHIN = 5.0  #: seconds; after that the rules rewrite the follow-up
REWRITE_MAX = 400  #: characters


class DirectAnswerer:
    """An `Answerer` that uses the passages it gets and runs no search."""

    name: EngineName = "direct"

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        call = ModelCall(
            messages=lambda: direct_messages(task),
            shorter=lambda: shorter_direct_messages(task),
            deadline=task.deadline,
            options=_options(task),
        )
        usage, truncated = Usage(calls=1), False
        async with aclosing(self._client.parts(call)) as parts:
            async for part in parts:
                usage = part.usage or usage
                truncated = truncated or part.finish == "limit"
                if part.text:
                    yield TextDelta(text=part.text)
        yield Written(usage=usage, model=self._client.model, truncated=truncated)


def _options(task: AnswerTask) -> dict[str, float]:
    options = {"temperature": task.temperature}
    return options if task.max_tokens is None else {**options, "max_tokens": task.max_tokens}


class ModelRewriter:
    """A `Rewriter` with one attempt and a short deadline."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def standalone(self, question: str, history: Sequence[ThreadMessage], *, deadline: float) -> str:
        call = ModelCall(
            messages=lambda: rewrite_messages(question, history),
            deadline=min(deadline, self._client.timeouts.clock() + REWRITE_WITHIN),
            attempts=1,
            options={"temperature": 0.0},
        )
        text = ""
        async with aclosing(self._client.parts(call)) as parts:
            async for part in parts:
                text += part.text
        standalone = text.strip()
        if not standalone or len(standalone) > REWRITE_MAX or len(standalone.splitlines()) > 1:
            raise unavailable("bad-response", self._client.host)
        return standalone
