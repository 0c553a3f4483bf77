"""Questions in a stored thread: whatever happens, the thread keeps both sides."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bookwise.answering.ask import AskKit
from bookwise.answering.converse import converse
from bookwise.domain.answers import Answered, AnswerFinished, TextDelta
from bookwise.domain.errors import NotFound, ThreadBusy
from bookwise.ports import ThreadStore
from bookwise.wiring import App
from tests.support.scripted_http import scripted
from tests.support.scripted_model import chunk, stream
from tests.support.small_book import BOOK, asking_app, question, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # every test opens a data folder: 0.2 s

VALVE = "When does the irrigation valve open?"


@pytest.fixture
async def opened(tmp_path: Path, small_book: Path) -> AsyncIterator[tuple[App, AskKit]]:
    async with asking_app(settings_for(tmp_path / "data"), small_book) as opened:
        yield opened


async def say(text: str, thread_id: str, kit: AskKit, threads: ThreadStore) -> AnswerFinished:
    events = [event async for event in converse(question(text), thread_id, kit=kit, threads=threads)]
    assert isinstance(events[-1], AnswerFinished)
    return events[-1]


async def test_both_sides_are_kept_with_confidence_and_citations(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    answer = (await say(VALVE, thread.id, kit, app.threads)).answer
    assert isinstance(answer, Answered)
    user, assistant = (await app.threads.thread(thread.id)).messages
    assert (user.role, user.content) == ("user", VALVE)
    assert (assistant.role, assistant.content, assistant.complete) == ("assistant", answer.text, True)
    assert assistant.confidence == pytest.approx(answer.evidence.confidence.usefulness)
    assert [c["number"] for c in assistant.details["citations"]] == [c.number for c in answer.citations]
    assert assistant.details["highlights"] == [{"start": h.start, "end": h.end} for h in answer.highlights]
    assert [r["line"] for r in assistant.details["related"]] == [r.line for r in answer.related]


async def test_a_follow_up_is_understood_from_the_stored_thread(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    await say("What is a moisture sensor?", thread.id, kit, app.threads)
    answer = (await say("How do I read one?", thread.id, kit, app.threads)).answer
    assert "greenhouse read --sensor moisture" in answer.text


async def test_a_second_question_meanwhile_is_refused_and_nothing_is_mixed(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    async with aclosing(converse(question(VALVE), thread.id, kit=kit, threads=app.threads)) as first:
        await anext(first)
        with pytest.raises(ThreadBusy):
            await say("What is a moisture sensor?", thread.id, kit, app.threads)
        async for _ in first:
            pass
    assert [m.role for m in (await app.threads.thread(thread.id)).messages] == ["user", "assistant"]


async def test_a_reader_who_leaves_keeps_the_question_and_a_marked_answer(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    async with aclosing(converse(question(VALVE), thread.id, kit=kit, threads=app.threads)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    user, assistant = (await app.threads.thread(thread.id)).messages
    assert user.content == VALVE
    assert not assistant.complete
    assert assistant.content
    assert isinstance((await say(VALVE, thread.id, kit, app.threads)).answer, Answered)


async def test_an_answer_that_fails_leaves_the_question_and_frees_the_thread(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id="nowhere")
    with pytest.raises(NotFound):
        async for _ in converse(question(VALVE, book_id="nowhere"), thread.id, kit=kit, threads=app.threads):
            pass
    user, assistant = (await app.threads.thread(thread.id)).messages
    assert (user.content, assistant.complete) == (VALVE, False)
    assert isinstance((await say(VALVE, thread.id, kit, app.threads)).answer, Answered)


async def test_a_cut_off_model_answer_is_kept_as_incomplete(tmp_path: Path, small_book: Path) -> None:
    true = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1] And"
    async with scripted(stream(chunk({"content": true}), done=False)) as server:
        settings = settings_for(tmp_path / "data", model_url=server.url)
        async with asking_app(settings, small_book) as (app, kit):
            thread = await app.threads.create(book_id=BOOK)
            await say(VALVE, thread.id, kit, app.threads)
            message = (await app.threads.thread(thread.id)).messages[-1]
    assert not message.complete
    assert message.details["outcome"] == "interrupted"
    assert "below 30 percent" in message.content


async def test_a_thread_deleted_meanwhile_does_not_cost_the_reader_the_answer(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    async with aclosing(converse(question(VALVE), thread.id, kit=kit, threads=app.threads)) as events:
        await anext(events)
        await app.threads.remove(thread.id)
        last = [event async for event in events][-1]
    assert isinstance(last, AnswerFinished)
    with pytest.raises(NotFound):
        await app.threads.thread(thread.id)


async def test_five_exchanges_give_a_thread_its_topic(opened: tuple[App, AskKit]) -> None:
    app, kit = opened
    thread = await app.threads.create(book_id=BOOK)
    for number in range(5):
        assert (await app.threads.thread(thread.id)).topic_summary is None, number
        await say(VALVE, thread.id, kit, app.threads)
    summary = (await app.threads.thread(thread.id)).topic_summary
    assert summary is not None
    assert "irrigation valve" in summary
    assert len(summary) <= 200
