"""What the port `Answerer` promises, held against every engine."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import get_args

import anyio
import pytest

from bookwise.adapters.openai.agent import AgentAnswerer
from bookwise.adapters.openai.client import ModelClient
from bookwise.adapters.openai.direct import DirectAnswerer
from bookwise.answering.extractive.answerer import ExtractiveAnswerer
from bookwise.domain.answers import EngineName, SearchStarted, TextDelta
from bookwise.ports import Answerer, Written
from tests.support.scripted_http import Reply, Request, answering
from tests.support.scripted_model import (
    Searches,
    evidence,
    message,
    model_client,
    outcome,
    passage,
    refuses,
    says,
    searches,
    stream,
    task,
)

pytestmark = pytest.mark.anyio

TEXT = "A loop repeats its body [1]. " * 40


def obedient(request: Request) -> Reply:
    """Searches once where it can, then answers."""
    sent = request.json
    if "tools" in sent and sent["messages"][-1]["role"] != "tool":
        return searches("loops", before="Let me see.")
    return says(*[TEXT[start : start + 20] for start in range(0, len(TEXT), 20)])


@asynccontextmanager
async def with_model(engine: Callable[[ModelClient], Answerer]) -> AsyncIterator[Answerer]:
    async with answering(obedient) as server, model_client(server.url) as client:
        yield engine(client)


#: Every engine, ready to answer.
ENGINES: dict[EngineName, Callable[[], AbstractAsyncContextManager[Answerer]]] = {
    "extractive": lambda: nullcontext(ExtractiveAnswerer()),
    "direct": lambda: with_model(DirectAnswerer),
    "agent": lambda: with_model(AgentAnswerer),
}


@pytest.fixture(params=list(ENGINES))
async def answerer(request: pytest.FixtureRequest) -> AsyncIterator[Answerer]:
    async with ENGINES[request.param]() as engine:
        assert engine.name == request.param
        yield engine


async def test_an_engine_has_one_of_the_names_a_question_can_choose(answerer: Answerer) -> None:
    assert answerer.name in get_args(EngineName)


async def test_an_answer_is_pieces_and_then_exactly_one_end(answerer: Answerer) -> None:
    result = await outcome(answerer, task())
    *pieces, last = result.events
    assert isinstance(last, Written)
    assert pieces
    assert all(isinstance(piece, TextDelta | SearchStarted) for piece in pieces)
    assert all(piece.text for piece in pieces if isinstance(piece, TextDelta))
    assert result.error is None


async def test_the_answer_cites_a_passage_it_was_given_and_says_nothing_twice(answerer: Answerer) -> None:
    result = await outcome(answerer, task())
    assert "[1]" in result.text
    assert "A loop repeats its body" in result.text
    assert result.text in (TEXT, TEXT.strip()) or result.text.count("A loop repeats its body") == 1


async def test_a_thread_before_the_question_is_welcome(answerer: Answerer) -> None:
    history = (message("user", "What is a list?"), message("assistant", "It holds [1]."))
    assert (await outcome(answerer, task(history=history))).written


async def test_what_the_engine_is_given_is_not_changed_by_it(answerer: Answerer) -> None:
    asked = task(evidence=evidence(passage("A loop repeats its body.", number=1), passage("A list holds.", number=2)))
    before = repr(asked.evidence)
    await outcome(answerer, asked)
    assert repr(asked.evidence) == before


async def test_one_engine_writes_several_answers_at_once(answerer: Answerer) -> None:
    texts: list[str] = []

    async def ask() -> None:
        texts.append((await outcome(answerer, task(retrieve=Searches()))).text)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(ask)
    assert len(texts) == 3
    assert len(set(texts)) == 1


async def test_who_stops_reading_can_ask_again(answerer: Answerer) -> None:
    answer = answerer.answer(task())
    await anext(answer)
    await answer.aclose()  # type: ignore[attr-defined]
    assert (await outcome(answerer, task())).written


@pytest.mark.parametrize("engine", [DirectAnswerer, AgentAnswerer])
@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (refuses(401), "unauthorized"),
        (refuses(404), "bad-response"),
        (refuses(429, **{"Retry-After": "3600"}), "rate-limited"),
        (Reply(headers={"Content-Type": "text/html"}, body=b"<html>"), "bad-response"),
        (stream({"choices": [{"index": 0, "delta": {"content": TEXT}}]}, done=False), "cut-off"),
    ],
)
async def test_what_goes_wrong_is_one_error_with_a_reason(
    engine: Callable[[ModelClient], Answerer], trouble: Reply, reason: str
) -> None:
    async with answering(lambda request: trouble) as server, model_client(server.url) as client:
        result = await outcome(engine(client), task())
    assert result.reason == reason
    assert not any(isinstance(event, Written) for event in result.events)
    assert result.error is not None
    assert result.error.advice
