"""When a follow-up is rewritten by a model, and when not."""

import anyio
import pytest

from bookwise.adapters.openai.client import ModelTimeouts
from bookwise.adapters.openai.direct import REWRITE_WITHIN, ModelRewriter
from bookwise.domain.errors import ModelUnavailable
from tests.support.scripted_http import Reply, scripted
from tests.support.scripted_model import message, model_client, refuses, says

pytestmark = pytest.mark.anyio

HISTORY = [message("user", "What is a topic?"), message("assistant", "A named bus [1].")]


async def rewritten(*replies: Reply, timeouts: ModelTimeouts | None = None, within: float = 30.0) -> str:
    async with scripted(*replies) as server, model_client(server.url, timeouts) as client:
        deadline = anyio.current_time() + within
        return await ModelRewriter(client).standalone("How do I create one?", HISTORY, deadline=deadline)


async def reason(*replies: Reply, within: float = 30.0) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        await rewritten(*replies, within=within)
    return caught.value.reason


async def test_the_models_question_is_taken_over() -> None:
    assert await rewritten(says("How do I ", "create a topic?\n")) == "How do I create a topic?"


@pytest.mark.parametrize(
    "nonsense",
    [says(" \n "), says("x" * 401), says("How do I create a topic?\nFirst, open a shell."), says("x" * 100_000)],
    ids=["nothing", "too long", "two lines", "a book"],
)
async def test_what_is_no_single_question_is_not_used(nonsense: Reply) -> None:
    assert await reason(nonsense) == "bad-response"


async def test_a_busy_model_is_asked_once_only() -> None:
    assert await reason(refuses(429)) == "rate-limited"
    assert await reason(Reply(status=500)) == "server-error"
    assert await reason(refuses(400, code="context_length_exceeded")) == "context-overflow"


async def test_a_slow_model_is_not_waited_for() -> None:
    assert REWRITE_WITHIN <= 5.0
    assert await reason(Reply(fault="hang"), within=0.1) == "timeout"
