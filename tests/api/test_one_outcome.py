"""One question has one outcome, whichever interface it is asked through."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from bookwise.api.mcp_tools import AskArguments, BookTools
from bookwise.domain.access import ANYONE
from bookwise.evaluation.dataset import read_questions
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.operations.ask import AskBook
from bookwise.schemas.answers import Outcome, summarize_answer
from bookwise.wiring import open_app
from tests.support.apps import SAMPLE_BOOK, ingested
from tests.support.copies import copy_folder
from tests.support.http_service import Opened, events_in, http_service
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

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
    """The first two questions of each kind and type: five interfaces need time for each."""
    groups: dict[tuple[str, str | None], list[ValidationQuestion]] = defaultdict(list)
    for question in read_questions(SAMPLE_BOOK / "bookwise.toml"):
        groups[question.kind, question.type].append(question)
    return [question for group in groups.values() for question in group[:2]]


async def test_a_question_to_the_sample_book_has_one_outcome(tmp_path: Path, sample_vectors: Path) -> None:
    copy_folder(sample_vectors, tmp_path / "data")
    settings = settings_for(tmp_path / "data")
    async with open_app(settings) as app:
        await ingested(app, SAMPLE_BOOK, book_id=BOOK)
    questions = sample_questions()
    assert len(questions) >= 30
    outcomes: Counter[tuple[str, str]] = Counter()
    async with http_service(settings) as opened:
        for question in questions:
            outcome = await by_ask(opened, question.text)
            for face in (by_chat, by_stream, by_completion, by_mcp):
                assert (face.__name__, await face(opened, question.text)) == (face.__name__, outcome), question.text
            outcomes[question.kind, outcome] += 1
    assert outcomes["answerable", "answered"] >= 20
    assert outcomes["off-topic", "refused"] == 2
