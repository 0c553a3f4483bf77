"""What a reader gets when a language model writes: checked, cited, and never worse than without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bookwise.answering.ask import AskKit
from bookwise.domain.answers import Answer, Answered, Interrupted, Refused, SearchStarted, TextDelta
from bookwise.domain.errors import Misconfigured
from bookwise.settings import OPENAI_URL
from bookwise.wiring import open_answers
from tests.support.scripted_http import Reply, Server, scripted
from tests.support.scripted_model import chunk, message, refuses, says, searches, stream
from tests.support.small_book import answer_of, asking_app, events_of, question, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # every test opens a data folder: 0.2 s

VALVE = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes."
FALSE = "The irrigation valve was invented by Napoleon in 1802."


@asynccontextmanager
async def asked_of(
    tmp_path: Path, small_book: Path, *replies: Reply, **others: object
) -> AsyncIterator[tuple[AskKit, Server]]:
    async with scripted(*replies) as server:
        settings = settings_for(tmp_path / "data", model_url=server.url, **others)
        async with asking_app(settings, small_book) as (_, kit):
            yield kit, server


async def one_answer(tmp_path: Path, small_book: Path, *replies: Reply, **others: object) -> Answer:
    async with asked_of(tmp_path, small_book, *replies, **others) as (kit, _):
        return await answer_of(kit, VALVE)


async def test_a_supported_answer_is_shown_with_its_citation(tmp_path: Path, small_book: Path) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{TRUE} [1]"))
    assert isinstance(answer, Answered)
    assert answer.text == f"{TRUE} [1]"
    assert (answer.meta.engine, answer.meta.degraded) == ("direct", None)
    assert answer.citations[0].quote in answer.citations[0].passage.chunk.text
    assert answer.meta.usage.total_tokens == 18


async def test_citations_are_numbered_as_the_reader_meets_them_and_nothing_is_highlighted(
    tmp_path: Path, small_book: Path
) -> None:
    sensor = "A moisture sensor is a probe that measures how much water the soil holds."
    said = f"{sensor} [Source: Moisture Sensors] {TRUE} [Source: Irrigation] {sensor} [Source: Moisture Sensors]"
    async with asked_of(tmp_path, small_book, says(said)) as (kit, _):
        events = await events_of(kit, question(VALVE, top_k=20))
    answer = events[-1].answer  # type: ignore[union-attr]
    assert isinstance(answer, Answered)
    assert answer.text == f"{sensor} [1] {TRUE} [2] {sensor} [1]"
    assert answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert [(c.number, c.passage.chunk.locator.page_title) for c in answer.citations] == [
        (1, "Moisture Sensors"),
        (2, "Irrigation"),
    ]
    assert (answer.highlights, answer.related) == ((), ())


async def test_a_source_named_by_its_title_is_understood(tmp_path: Path, small_book: Path) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{TRUE} [Source: Irrigation]"))
    assert isinstance(answer, Answered)
    assert answer.citations[0].passage.chunk.locator.page_title == "Irrigation"
    assert "[Source" not in answer.text


async def test_a_question_in_another_language_is_left_to_the_model_if_the_book_covers_it(
    tmp_path: Path, small_book: Path
) -> None:
    covered, unknown = (
        "Wie und warum öffnet das irrigation valve, soil moisture 30 percent?",
        "Wie heißt der Bürgermeister und warum?",
    )
    async with asked_of(tmp_path, small_book, says(f"{TRUE} [1]")) as (kit, _):
        answer = await answer_of(kit, covered)
        assert isinstance(answer, Answered)
        assert answer.text == f"{TRUE} [1]"
        for refused in (await answer_of(kit, unknown), await answer_of(kit, covered, engine="extractive")):
            assert isinstance(refused, Refused)
            assert refused.reason == "other-language"


async def test_an_unsupported_sentence_is_dropped_and_listed(tmp_path: Path, small_book: Path) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{TRUE} [1] ", f"{FALSE} [1]"))
    assert isinstance(answer, Answered)
    assert "Napoleon" not in answer.text
    assert answer.grounding.supported == 0.5
    assert "Napoleon" in answer.grounding.unsupported[0]


async def test_an_unsupported_sentence_is_marked_when_that_is_set(tmp_path: Path, small_book: Path) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{TRUE} [1] ", f"{FALSE} [1]"), unsupported="mark")
    assert isinstance(answer, Answered)
    assert "Napoleon in 1802." in answer.text
    assert answer.text.endswith("*(not supported by the book)*")


async def test_a_citation_of_a_passage_that_was_not_retrieved_is_removed_and_counted(  # LLM-14
    tmp_path: Path, small_book: Path
) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{TRUE} [1][99]"))
    assert isinstance(answer, Answered)
    assert "[99]" not in answer.text
    assert answer.grounding.unsupported_citations == 1
    assert [c.number for c in answer.citations] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't find that information in the book.",
        "I don't have information about that in the book content",
        "This question cannot be answered from the passages. [1]",
        "Sorry, I don't know.",
        "That is not in the book. Let me know if you have any questions.",
        "The book says nothing about that. [Source: Irrigation]",
    ],
)
async def test_a_model_that_finds_no_answer_refuses(tmp_path: Path, small_book: Path, text: str) -> None:
    answer = await one_answer(tmp_path, small_book, says(text))
    assert isinstance(answer, Refused)
    assert (answer.reason, answer.meta.engine, answer.meta.degraded) == ("not-in-the-book", "direct", None)
    assert answer.text.startswith(text[:12])
    assert answer.nearest


async def test_a_model_can_only_cite_the_passages_the_caller_asked_for(tmp_path: Path, small_book: Path) -> None:
    closing = "It closes again at 45 percent, so that the valve does not flutter."
    carriage = "The carriage moves at 20 centimetres per second, because faster motion shakes the camera."
    async with asked_of(tmp_path, small_book, says(f"{TRUE} [1] {closing} [1] {carriage} [2]")) as (kit, _):
        answer = await answer_of(kit, VALVE, top_k=1)
    assert isinstance(answer, Answered)
    assert [citation.number for citation in answer.citations] == [1]
    assert answer.grounding.unsupported_citations == 1
    assert "carriage" not in answer.text


async def test_an_answer_without_one_supported_sentence_gives_way_to_quotes(tmp_path: Path, small_book: Path) -> None:
    answer = await one_answer(tmp_path, small_book, says(f"{FALSE} [1]"))
    assert isinstance(answer, Answered)
    assert (answer.meta.engine, answer.meta.degraded) == ("extractive", "ungrounded")
    assert "below 30 percent" in answer.text
    assert "Napoleon" not in answer.text


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([refuses(401)], "unauthorized"),
        ([refuses(429, **{"Retry-After": "3600"})], "rate-limited"),
        ([Reply(status=200, body=b"<html>Service is down</html>")], "bad-response"),
        ([says("Lovely.", finish="content_filter")], "content-filter"),
    ],
    ids=["unauthorized", "rate-limited", "html", "filtered"],
)
async def test_a_model_that_fails_leaves_the_reader_with_the_quoted_answer(
    tmp_path: Path, small_book: Path, replies: list[Reply], reason: str
) -> None:
    answer = await one_answer(tmp_path, small_book, *replies)
    assert isinstance(answer, Answered)
    assert (answer.meta.engine, answer.meta.degraded) == ("extractive", reason)
    assert "below 30 percent" in answer.text


async def test_a_stream_cut_in_the_middle_is_interrupted_and_never_repeated(tmp_path: Path, small_book: Path) -> None:
    cut = stream(chunk({"content": f"{TRUE} [1] "}), chunk({"content": "And the carr"}), done=False)
    async with asked_of(tmp_path, small_book, cut) as (kit, server):
        events = await events_of(kit, question(VALVE))
    answer = events[-1].answer  # type: ignore[union-attr]
    assert isinstance(answer, Interrupted)
    assert answer.reason == "cut-off"
    assert [(c.number, c.passage.number) for c in answer.citations] == [(1, 1)]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)).count("below 30 percent") == 1
    assert len(server.requests) == 1


async def test_a_refusal_costs_no_model_call(tmp_path: Path, small_book: Path) -> None:
    async with asked_of(tmp_path, small_book) as (kit, server):
        assert isinstance(await answer_of(kit, "What is the capital of Portugal?"), Refused)
        assert server.requests == []


async def test_without_a_key_nobody_is_called(tmp_path: Path, small_book: Path) -> None:  # LLM-12
    async with scripted() as server:
        settings = settings_for(tmp_path / "data", openai_base_url=f"{server.url}/v1")
        async with asking_app(settings, small_book) as (_, kit):
            answer = await answer_of(kit, VALVE)
        assert answer.meta.engine == "extractive"
        assert server.requests == []


async def test_the_agent_searches_the_one_book_and_its_answer_is_checked(tmp_path: Path, small_book: Path) -> None:
    replies = (searches("when the irrigation valve opens"), says(f"{TRUE} [1] {FALSE} [1]"))
    async with asked_of(tmp_path, small_book, *replies, engine="agent") as (kit, _):
        events = await events_of(kit, question(VALVE))
    answer = events[-1].answer  # type: ignore[union-attr]
    assert isinstance(answer, Answered)
    assert answer.meta.engine == "agent"
    assert "Napoleon" not in answer.text
    assert [e.query for e in events if isinstance(e, SearchStarted)] == [VALVE, "when the irrigation valve opens"]


async def test_an_agent_that_recites_its_instructions_is_not_heard(tmp_path: Path, small_book: Path) -> None:
    from bookwise.answering.prompts import AGENT_INSTRUCTIONS

    answer = await one_answer(tmp_path, small_book, says(AGENT_INSTRUCTIONS[:390]), engine="agent")
    assert "CRITICAL RULES" not in answer.text
    assert answer.meta.degraded or isinstance(answer, Interrupted)


async def test_a_follow_up_is_rewritten_by_the_model_and_by_rule_when_it_fails(
    tmp_path: Path, small_book: Path
) -> None:
    history = [
        message("user", "What is the irrigation valve?"),
        message("assistant", "The irrigation valve lets water in."),
    ]
    replies = (says("When does the irrigation valve open?"), says(f"{TRUE} [1]"), refuses(500), says(f"{TRUE} [1]"))
    async with asked_of(tmp_path, small_book, *replies) as (kit, _):
        by_model = await answer_of(kit, "When does it open?", history=history)
        by_rule = await answer_of(kit, "When does it open?", history=history)
    assert by_model.evidence.question == "When does the irrigation valve open?"  # type: ignore[union-attr]
    assert "irrigation valve" in by_rule.evidence.question  # type: ignore[union-attr]


async def test_a_key_that_is_none_of_openai_is_refused_for_its_own_endpoint_only(
    tmp_path: Path, small_book: Path
) -> None:
    short = settings_for(tmp_path / "data", openai_api_key="short-key")
    assert short.openai_base_url == OPENAI_URL
    async with asking_app(settings_for(tmp_path / "data"), small_book) as (app, _):
        with pytest.raises(Misconfigured, match="sk- first"):
            async with open_answers(short, app.search_kit):
                pass
        other = settings_for(tmp_path / "data", openai_api_key="short-key", openai_base_url="http://127.0.0.1:9/v1")
        async with open_answers(other, app.search_kit) as kit:
            assert kit.engine == "direct"


async def test_an_engine_without_a_key_is_named_at_the_start(tmp_path: Path, small_book: Path) -> None:
    settings = settings_for(tmp_path / "data", engine="agent")
    with pytest.raises(Misconfigured, match="OPENAI_API_KEY"):
        async with asking_app(settings, small_book):
            pass
