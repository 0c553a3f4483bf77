"""The thread as the session of the Agents SDK."""

from typing import Any

import pytest
from agents.memory import Session

from bookwise.adapters.openai.session import ThreadSession
from tests.support.scripted_model import message

pytestmark = pytest.mark.anyio

HISTORY = (message("user", "What is a list?"), message("assistant", "It holds items [1]."))
QUESTION: Any = {"role": "user", "content": "And a set?"}


async def test_the_sdk_accepts_it_as_a_session() -> None:
    assert isinstance(ThreadSession(), Session)
    assert await ThreadSession().get_items() == []


async def test_the_thread_comes_before_the_items_of_the_run() -> None:
    session = ThreadSession(HISTORY)
    await session.add_items([QUESTION])
    items: Any = await session.get_items()
    assert [(item["role"], item["content"]) for item in items] == [
        ("user", "What is a list?"),
        ("assistant", "It holds items [1]."),
        ("user", "And a set?"),
    ]
    assert await session.get_items(limit=1) == [QUESTION]
    assert await session.get_items(limit=9) == items
    assert await session.get_items(limit=0) == []


async def test_an_answer_that_was_cut_off_is_not_part_of_it() -> None:
    session = ThreadSession((message("user", "lost?"), message("assistant", "half", complete=False), *HISTORY))
    items: Any = await session.get_items()
    assert [item["content"] for item in items] == ["What is a list?", "It holds items [1]."]


async def test_items_can_be_taken_back_and_cleared() -> None:
    session = ThreadSession(HISTORY)
    await session.add_items([QUESTION])
    assert await session.pop_item() == QUESTION
    await session.clear_session()
    assert await session.pop_item() is None
    assert await session.get_items() == []
