"""What a reader gets from one call to a model."""

import anyio
import pytest
from pydantic import SecretStr

from bookwise.adapters.openai.client import ModelClient
from bookwise.adapters.openai.direct import DirectAnswerer
from bookwise.answering.prompts import direct_messages
from bookwise.domain.answers import TextDelta, Usage
from bookwise.domain.errors import Misconfigured
from tests.support.scripted_http import Reply, Request, answering, scripted
from tests.support.scripted_model import KEY, MODEL, message, model_client, outcome, says, task

pytestmark = pytest.mark.anyio


async def test_the_words_of_the_model_come_as_they_are_said_and_the_figures_last() -> None:
    async with scripted(says("A loop ", "repeats [1].", tokens=(120, 9))) as server, model_client(server.url) as client:
        result = await outcome(DirectAnswerer(client), task())
    assert result.events[:-1] == [TextDelta(text="A loop "), TextDelta(text="repeats [1].")]
    assert result.written.usage == Usage(prompt_tokens=120, completion_tokens=9, calls=1)
    assert result.written.model == MODEL
    assert not result.written.truncated


async def test_a_service_that_sends_no_figures_still_counts_as_one_call() -> None:
    async with scripted(says("A loop", tokens=None)) as server, model_client(server.url) as client:
        result = await outcome(DirectAnswerer(client), task())
    assert result.written.usage == Usage(calls=1)


async def test_many_answers_are_written_at_once() -> None:
    readers = 150
    arrived = anyio.Event()

    def waits_for_all(request: Request) -> Reply:
        if len(server.requests) == readers:
            arrived.set()
        return Reply(fault="hang")

    async with (
        answering(waits_for_all) as server,
        model_client(server.url) as client,
        anyio.create_task_group() as asking,
    ):
        for _ in range(readers):
            asking.start_soon(outcome, DirectAnswerer(client), task(within=60))
        with anyio.fail_after(30):
            await arrived.wait()
        asking.cancel_scope.cancel()


async def test_the_request_is_what_the_protocol_says() -> None:
    asked = task(temperature=0.1, history=(message("user", "Hi?"), message("assistant", "Ask me.")))
    async with scripted(says("A loop")) as server, model_client(server.url) as client:
        await outcome(DirectAnswerer(client), asked)
    [request] = server.requests
    assert request.target == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": MODEL,
        "messages": direct_messages(asked),
        "temperature": 0.1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_the_longest_answer_is_sent_when_it_is_set() -> None:
    async with scripted(says("A loop")) as server, model_client(server.url) as client:
        await outcome(DirectAnswerer(client), task(max_tokens=256))
    assert server.requests[0].json["max_tokens"] == 256


async def test_half_a_letter_in_a_question_does_not_stop_it() -> None:
    async with scripted(says("A loop")) as server, model_client(server.url) as client:
        result = await outcome(DirectAnswerer(client), task(standalone="What is \ud800 a loop?"))
    assert result.written
    assert "What is ? a loop?" in server.requests[0].json["messages"][-1]["content"]


async def test_one_client_serves_several_answers_and_opens_again_after_it_was_closed() -> None:
    async with scripted(says("one"), says("two"), says("three")) as server, model_client(server.url) as client:
        answerer = DirectAnswerer(client)
        texts = [(await outcome(answerer, task())).text for _ in range(2)]
        await client.aclose()
        texts.append((await outcome(answerer, task())).text)
    assert texts == ["one", "two", "three"]


@pytest.mark.parametrize(("key", "url"), [("", "http://host/v1"), ("two words", "http://host/v1"), (KEY, "nowhere")])
def test_a_key_or_an_address_that_cannot_be_used_is_named_at_once(key: str, url: str) -> None:
    with pytest.raises(Misconfigured, match=r"OPENAI_(API_KEY|BASE_URL)"):
        ModelClient(SecretStr(key), base_url=url, model=MODEL)
