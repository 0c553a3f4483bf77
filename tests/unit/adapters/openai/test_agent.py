"""What an agent searches for, and what of its words is the answer."""

import json
from typing import Any

import anyio
import pytest

from bookwise.adapters.openai.agent import HOLD_BACK_MAX, AgentAnswerer
from bookwise.answering.prompts import agent_instructions
from bookwise.answering.retrieval_tool import RETRIEVAL_TOOL, TOOL_ALIAS
from bookwise.domain.answers import Passage, SearchStarted, TextDelta, Usage
from bookwise.domain.errors import InvalidInput
from tests.support.scripted_http import Reply, Server, scripted
from tests.support.scripted_model import (
    MODEL,
    TOOL,
    Outcome,
    Searches,
    chunk,
    dripping,
    message,
    model_client,
    outcome,
    passage,
    says,
    searches,
    task,
    tool_calls,
    usage,
)

pytestmark = pytest.mark.anyio


async def asked(*replies: Reply, **facts: Any) -> tuple[Outcome, Server]:
    async with scripted(*replies) as server, model_client(server.url) as client:
        return await outcome(AgentAnswerer(client), task(**facts)), server


async def test_the_agent_searches_the_book_and_answers_from_what_it_found() -> None:
    book = Searches()
    call = tool_calls((TOOL, '{"query": "loops", "top_k": 3, "similarity_threshold": 0.25}'))
    result, server = await asked(call, says("A loop ", "repeats [1]."), retrieve=book)
    assert result.events[:-1] == [SearchStarted(query="loops", top_k=3), TextDelta(text="A loop repeats [1].")]
    assert book.asked == [("loops", 3, 0.25)]
    assert result.written.usage == Usage(prompt_tokens=22, completion_tokens=14, calls=2)
    assert result.written.model == MODEL
    found = json.loads(server.requests[1].json["messages"][-1]["content"])
    assert found["query"] == "loops"
    assert [(entry["rank"], entry["number"]) for entry in found["results"]] == [(1, 1)]


async def test_the_model_is_sent_the_rules_the_thread_and_the_tool_under_both_names() -> None:
    history = (message("user", "Hi?"), message("assistant", "Ask me."))
    _, server = await asked(says("A loop"), history=history, temperature=0.1)
    sent = server.requests[0].json
    assert sent["temperature"] == 0.1
    assert [(m["role"], m["content"]) for m in sent["messages"]] == [
        ("system", agent_instructions("A Book of Loops")),
        ("user", "Hi?"),
        ("assistant", "Ask me."),
        ("user", "What is a loop?"),
    ]
    schema = RETRIEVAL_TOOL["function"]
    for tool, name in zip(sent["tools"], (TOOL, TOOL_ALIAS), strict=True):
        assert tool["type"] == "function"
        assert tool["function"] == {**schema, "name": name, "strict": False}


async def test_the_longest_answer_is_sent_when_it_is_set() -> None:
    _, server = await asked(says("A loop"))
    assert "max_tokens" not in server.requests[0].json
    _, server = await asked(says("A loop"), max_tokens=256)
    assert server.requests[0].json["max_tokens"] == 256


@pytest.mark.parametrize(("top_k", "searched"), [(9, 9), (100, 20)])
async def test_a_call_without_a_number_of_results_gets_the_number_of_the_question(top_k: int, searched: int) -> None:
    book = Searches()
    result, server = await asked(searches("loops"), says("A loop"), retrieve=book, top_k=top_k)
    assert book.asked == [("loops", searched, 0.0)]
    assert result.events[0] == SearchStarted(query="loops", top_k=searched)
    spec = server.requests[0].json["tools"][0]["function"]["parameters"]["properties"]["top_k"]
    assert spec["default"] == searched


async def test_the_system_prompt_can_be_replaced() -> None:
    _, server = await asked(says("A loop"), system_prompt="Answer in verse.")
    assert server.requests[0].json["messages"][0]["content"].startswith("Answer in verse.\n\nTHE BOOK:")


async def test_a_question_with_half_a_letter_is_sent() -> None:
    _, server = await asked(says("A loop"), question="What is \ud800 a loop?")
    assert server.requests[0].json["messages"][-1]["content"] == "What is ? a loop?"


async def test_the_alias_searches_like_the_tool_itself() -> None:
    book = Searches()
    result, _ = await asked(tool_calls((TOOL_ALIAS, '{"query": "loops"}')), says("A loop"), retrieve=book)
    assert result.searches == ["loops"]
    assert book.asked == [("loops", 5, 0.0)]


async def test_a_reader_hears_of_a_search_before_it_ends() -> None:
    heard = anyio.Event()

    async def patient(query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        with anyio.fail_after(5):
            await heard.wait()
        return (passage("A loop repeats."),)

    async with scripted(searches("loops"), says("A loop")) as server, model_client(server.url) as client:
        events = []
        async for event in AgentAnswerer(client).answer(task(retrieve=patient)):
            events.append(event)
            if isinstance(event, SearchStarted):
                heard.set()
    assert len(events) == 3


async def test_what_is_said_before_a_search_is_not_part_of_the_answer() -> None:
    result, server = await asked(
        searches("loops", before="Let me look that up."), searches("lists", before="And lists."), says("A loop [1].")
    )
    assert result.text == "A loop [1]."
    assert result.searches == ["loops", "lists"]
    assert "Let me look that up." in str(server.requests[1].json["messages"]), "the model keeps its own words"


async def test_a_long_answer_streams_once_it_is_longer_than_what_is_held_back() -> None:
    words = ["x" * HOLD_BACK_MAX, "a", "b", "c"]
    result, _ = await asked(searches("loops"), says(*words))
    assert [event.text for event in result.events if isinstance(event, TextDelta)] == [
        "x" * HOLD_BACK_MAX + "a",
        "b",
        "c",
    ]


async def test_a_long_answer_is_seen_while_the_model_still_writes() -> None:
    writing = dripping([chunk({"content": "x" * 500}), chunk({"content": "never"})], pause=60)
    async with scripted(writing) as server, model_client(server.url) as client:
        answer: Any = AgentAnswerer(client).answer(task())
        with anyio.fail_after(5):
            assert await anext(answer) == TextDelta(text="x" * 500)
        await answer.aclose()


async def test_an_answer_that_is_searched_on_after_it_flowed_goes_on_in_a_new_paragraph() -> None:
    long = "x" * 500
    result, _ = await asked(searches("loops", before=long), says("And more."))
    assert result.text == f"{long}\n\nAnd more."


async def test_a_search_the_book_refuses_is_told_to_the_model() -> None:
    async def refuse(query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        raise InvalidInput("The search text needs at least 3 characters.")

    _, server = await asked(searches("it"), says("A loop"), retrieve=refuse)
    told = json.loads(server.requests[1].json["messages"][-1]["content"])
    assert told == {"error": "The search text needs at least 3 characters.", "query": "it"}


async def test_a_mistake_of_ours_is_not_called_one_of_the_model() -> None:
    async def mistaken(query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        raise KeyError("no such column")

    with pytest.raises(KeyError):
        await asked(searches("loops"), retrieve=mistaken)


async def test_calls_without_ids_or_with_the_same_ids_again_are_kept_apart() -> None:
    def call(query: str) -> Reply:
        part = {"index": 3, "id": "", "function": {"name": TOOL, "arguments": json.dumps({"query": query})}}
        return tool_less(chunk({"tool_calls": [part]}))

    def tool_less(*events: object) -> Reply:
        return dripping([*events, chunk({}, finish="tool_calls"), usage(1, 1), b"data: [DONE]\n\n"], pause=0.0)

    book = Searches()
    result, server = await asked(call("loops"), call("lists"), says("A loop"), retrieve=book)
    assert result.text == "A loop"
    assert [query for query, *_ in book.asked] == ["loops", "lists"]
    ids = [m["tool_call_id"] for m in server.requests[2].json["messages"] if m["role"] == "tool"]
    assert len(set(ids)) == 2


async def test_two_answers_at_once_do_not_hear_each_other() -> None:
    results: dict[str, Outcome] = {}

    async def ask(name: str) -> None:
        async with scripted(searches(name), says(f"About {name}.")) as server, model_client(server.url) as client:
            results[name] = await outcome(AgentAnswerer(client), task(question=name))

    async with anyio.create_task_group() as group:
        for name in ("loops", "lists", "sets"):
            group.start_soon(ask, name)
    for name, result in results.items():
        assert result.text == f"About {name}."
        assert result.searches == [name]
        assert result.written.usage.calls == 2
