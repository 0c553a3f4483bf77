"""Passages in the prompt, one call: a question into an answer, a follow-up into a question of its own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from bookwise.adapters.openai.client import ModelCall, ModelClient
from bookwise.adapters.openai.failures import unavailable
from bookwise.answering.prompts import direct_messages, rewrite_messages, shorter_direct_messages
from bookwise.domain.answers import EngineName, SearchStarted, TextDelta, Usage
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import AnswerTask, Written

REWRITE_WITHIN = 5.0  #: seconds; the reader waits for the answer, not for this
REWRITE_MAX = 400  #: characters


class DirectAnswerer:
    """Keeps the promises of `Answerer` with the passages it is given; it never searches on."""

    name: EngineName = "direct"

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        call = ModelCall(
            messages=lambda: direct_messages(task),
            shorter=lambda: shorter_direct_messages(task),
            deadline=task.deadline,
            options={"temperature": task.temperature},
        )
        usage, truncated = Usage(calls=1), False
        async with aclosing(self._client.pieces(call)) as pieces:
            async for piece in pieces:
                usage = piece.usage or usage
                truncated = truncated or piece.finish == "limit"
                if piece.text:
                    yield TextDelta(text=piece.text)
        yield Written(usage=usage, model=self._client.model, truncated=truncated)


class ModelRewriter:
    """Keeps the promises of `Rewriter`: quick, or not at all."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def standalone(self, question: str, history: Sequence[ThreadMessage], *, deadline: float) -> str:
        call = ModelCall(
            messages=lambda: rewrite_messages(question, history),
            deadline=min(deadline, self._client.patience.clock() + REWRITE_WITHIN),
            attempts=1,
            options={"temperature": 0.0},
        )
        said = ""
        async with aclosing(self._client.pieces(call)) as pieces:
            async for piece in pieces:
                said += piece.text
        rewritten = said.strip()
        if not rewritten or len(rewritten) > REWRITE_MAX or len(rewritten.splitlines()) > 1:
            raise unavailable("bad-response", self._client.host)
        return rewritten
