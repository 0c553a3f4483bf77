"""A stored thread as an agent's memory."""

from typing import Any, cast
from uuid import uuid4

import anyio
import pytest
from agents import Agent, RunConfig, Runner
from agents.memory import Session

from bookwise.adapters.openai.agent_model import AgentEndpoint
from bookwise.adapters.openai.agent_tools import BookSearch
from bookwise.adapters.openai.session import ThreadSession
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import NotFound
from bookwise.ports import ThreadStore
from tests.support.scripted_http import Reply, Server, scripted
from tests.support.scripted_model import Searches, message, model_client, says, searches

pytestmark = pytest.mark.anyio


@pytest.fixture
def threads(database: Database) -> ThreadStore:
    return SqlThreads(database)


@pytest.fixture
async def session(threads: ThreadStore) -> ThreadSession:
    thread = await threads.create(book_id="book", owner="ann", thread_id=str(uuid4()), metadata={"a": 1})
    return ThreadSession(threads, thread.id, owner="ann")


async def ask(session: ThreadSession, question: str, *replies: Reply) -> Server:
    """One run of an agent that remembers by this session."""
    async with scripted(*replies) as server, model_client(server.url) as client:
        endpoint = AgentEndpoint(client, anyio.current_time() + 10)
        tools = BookSearch(Searches(), seconds=5).tools
        agent = Agent[None](name="agent", model=endpoint.model, tools=[*tools])
        run = Runner.run_streamed(agent, question, session=session, run_config=RunConfig(tracing_disabled=True))
        async for _ in run.stream_events():
            pass
    return server


def said(items: Any) -> list[tuple[str, str]]:
    return [(item["role"], item["content"]) for item in items]


async def test_it_is_a_session_to_the_sdk(session: ThreadSession) -> None:
    assert isinstance(session, Session)
    assert await session.get_items() == []


async def test_an_agent_sees_the_thread_and_the_thread_gets_its_exchange(
    session: ThreadSession, threads: ThreadStore
) -> None:
    await threads.begin(session.session_id, "What is a list?", owner="ann")
    await threads.finish(session.session_id, message("assistant", "It holds [1]."), owner="ann")
    server = await ask(session, "And a loop?", searches("loops", before="One moment."), says("It repeats [1]."))
    first = server.requests[0].json["messages"]
    assert said(first) == [("user", "What is a list?"), ("assistant", "It holds [1]."), ("user", "And a loop?")]
    thread = await threads.thread(session.session_id, owner="ann")
    assert [(m.role, m.content, m.complete) for m in thread.messages] == [
        ("user", "What is a list?", True),
        ("assistant", "It holds [1].", True),
        ("user", "And a loop?", True),
        ("assistant", "It repeats [1].", True),
    ]


async def test_tool_calls_are_remembered_within_a_run_and_not_after(session: ThreadSession) -> None:
    first = await ask(session, "And a loop?", searches("loops"), says("It repeats."))
    assert [m["role"] for m in first.requests[1].json["messages"]] == ["user", "assistant", "tool"]
    second = await ask(session, "Why?", says("Because."))
    assert said(second.requests[0].json["messages"]) == [
        ("user", "And a loop?"),
        ("assistant", "It repeats."),
        ("user", "Why?"),
    ]


async def test_a_question_without_an_answer_never_reaches_the_store(
    session: ThreadSession, threads: ThreadStore
) -> None:
    question = cast(Any, {"role": "user", "content": "What is a loop?"})
    await session.add_items([question])
    assert await session.get_items() == [question]
    assert (await threads.thread(session.session_id, owner="ann")).messages == ()
    assert await session.pop_item() == question
    assert await session.get_items() == []


async def test_the_newest_items_are_given_where_only_some_are_wanted(session: ThreadSession) -> None:
    await ask(session, "one?", says("one."))
    await ask(session, "two?", says("two."))
    assert said(await session.get_items(limit=3)) == [("assistant", "one."), ("user", "two?"), ("assistant", "two.")]
    assert await session.get_items(limit=0) == []
    assert len(await session.get_items(limit=99)) == 4


async def test_what_the_store_has_is_not_taken_back(session: ThreadSession) -> None:
    await ask(session, "one?", says("one."))
    assert await session.pop_item() is None
    assert len(await session.get_items()) == 2


async def test_a_cleared_thread_is_empty_and_still_its_owners(session: ThreadSession, threads: ThreadStore) -> None:
    await ask(session, "one?", says("one."))
    await session.clear_session()
    thread = await threads.thread(session.session_id, owner="ann")
    assert (thread.messages, thread.book_id, dict(thread.metadata)) == ((), "book", {"a": 1})
    with pytest.raises(NotFound):
        await threads.thread(session.session_id, owner="bob")


async def test_an_unfinished_answer_in_the_store_is_not_shown_to_the_agent(
    session: ThreadSession, threads: ThreadStore
) -> None:
    await ask(session, "one?", says("one."))
    await threads.begin(session.session_id, "lost?", owner="ann")
    assert said(await session.get_items()) == [("user", "one?"), ("assistant", "one.")]
