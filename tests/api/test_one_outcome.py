"""One question has one outcome, whichever interface it is asked through."""

import io
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest

import bookwise
from bookwise.api.mcp_tools import AskArguments, BookTools
from bookwise.domain.access import ANYONE
from bookwise.evaluation.dataset import read_questions
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.operations.ask import AskBook
from bookwise.operations.export import export
from bookwise.schemas.answers import Outcome, summarize_answer
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.apps import SAMPLE_BOOK, ingested
from tests.support.command_line import CommandLine
from tests.support.copies import copy_folder
from tests.support.http_service import Opened, events_in, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.slow

BOOK = "physical-ai-robotics"


async def by_ask(opened: Opened, text: str) -> Outcome:
    settings = opened.service.settings
    asked = AskBook(
        text=text,
        book=None,
        module=None,
        top_k=settings.agent_top_k,
        tier=4,
        threshold=settings.agent_score_threshold,
        engine=None,
    )
    return summarize_answer(await asked.run(opened.service.kit)).outcome


async def by_chat(opened: Opened, text: str) -> str:
    answer = await opened.client.post("/chat/run", json={"message": text})
    return str(answer.raise_for_status().json()["outcome"])


async def by_stream(opened: Opened, text: str) -> str:
    answer = await opened.client.post("/chat/stream", json={"message": text})
    return str(events_in(answer.raise_for_status().text)[-1].data["outcome"])


async def by_completion(opened: Opened, text: str) -> str:
    body = {"model": "bookwise", "messages": [{"role": "user", "content": text}]}
    answer = await opened.client.post("/v1/chat/completions", json=body)
    return str(answer.raise_for_status().json()["bookwise"]["outcome"])


async def by_mcp(opened: Opened, text: str) -> str:
    tools = BookTools(
        kit=opened.service.kit,
        caller=ANYONE,
        settings=opened.service.settings,
        log=lambda events, question, caller: events,
    )
    return str((await tools.ask(AskArguments(question=text)))["outcome"])


def sample_questions() -> list[ValidationQuestion]:
    """The first two questions of each kind and type: six interfaces need time for each."""
    groups: dict[tuple[str, str | None], list[ValidationQuestion]] = defaultdict(list)
    for question in read_questions(SAMPLE_BOOK / "bookwise.toml"):
        groups[question.kind, question.type].append(question)
    return [question for group in groups.values() for question in group[:2]]


async def of_service(settings: Settings, questions: list[ValidationQuestion]) -> dict[str, str]:
    """The outcome of `ask` for each question, which is that of every interface of the service."""
    async with open_app(settings) as app:
        await ingested(app, SAMPLE_BOOK, book_id=BOOK)
    outcomes = {}
    async with http_service(settings) as opened:
        for question in questions:
            outcome = await by_ask(opened, question.text)
            for face in (by_chat, by_stream, by_completion, by_mcp):
                assert (face.__name__, await face(opened, question.text)) == (face.__name__, outcome), question.text
            outcomes[question.text] = str(outcome)
    return outcomes


def by_terminal(line: CommandLine, questions: Iterable[str], environment: pytest.MonkeyPatch) -> dict[str, str]:
    """The outcomes of a chat, where each question begins a conversation. They are read from what it saves, because a
    terminal does not name them."""
    before = anyio.run(saved_outcomes, line.data)
    typed = "\n/new\n".join(questions).encode()
    environment.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8"))
    assert line("chat", "--save") == 0, line.err
    after = anyio.run(saved_outcomes, line.data)
    return dict(after[thread_id] for thread_id in after.keys() - before.keys())


async def saved_outcomes(data: Path) -> dict[str, tuple[str, str]]:
    """The first question of each thread, with its outcome."""
    threads = [(thread["thread_id"], thread["messages"]) async for thread in export("threads", settings_for(data))]
    return {thread_id: (asked["content"], answer["details"]["outcome"]) for thread_id, (asked, answer, *_) in threads}


def test_a_question_to_the_sample_book_has_one_outcome(
    tmp_path: Path, sample_vectors: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = copy_folder(sample_vectors, tmp_path / "data")
    questions = sample_questions()
    assert len(questions) >= 30
    outcomes = anyio.run(of_service, settings_for(data), questions)
    counts = Counter((question.kind, outcomes[question.text]) for question in questions)
    assert counts["answerable", "answered"] >= 20
    assert counts["off-topic", "refused"] == 2
    assert by_terminal(CommandLine(capfd, data), outcomes, monkeypatch) == outcomes
    for text in {question.kind: question.text for question in questions}.values():  # each call opens the data folder
        assert bookwise.ask(text, data_dir=data).outcome == outcomes[text]
