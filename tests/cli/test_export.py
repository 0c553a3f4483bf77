"""`export`: every record once, as JSON lines, also while another process has the data folder."""

import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.domain.threads import ThreadMessage
from tests.support.apps import hashing_app, ingested, write_book
from tests.support.command_line import CommandLine
from tests.support.small_books import LESSONS

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MANY = 60  #: messages: more than a thread keeps live
THREAD = "550e8400-e29b-41d4-a716-446655440000"
RATED = "8e03978e-40d5-43dd-bc93-6894a57f9324"


@pytest.fixture
def library(bookwise: CommandLine, tmp_path: Path) -> CommandLine:
    """Two books, a long thread of one reader, and three questions, one of them rated."""

    async def fill() -> None:
        async with hashing_app(bookwise.data) as app:
            for book in ("robots", "other"):
                await ingested(app, write_book(tmp_path / book, LESSONS), book_id=book)
            await app.threads.create(book_id="robots", owner="ann", thread_id=THREAD, metadata={"course": "5"})
            for number in range(MANY // 2):
                await app.threads.begin(THREAD, f"Question {number} – why?", owner="ann")
                answer = ThreadMessage(role="assistant", content=f"Answer {number}", timestamp=NOW, confidence=0.5)
                await app.threads.finish(THREAD, answer, owner="ann")
            await app.journal.note(_question("robots", RATED, thread_id=THREAD))
            await app.journal.rate(RATED, "down", "=1+1 wrong", owner="ann")
            await app.journal.note(_question("robots", str(uuid4())))
            await app.journal.note(_question("other", str(uuid4())))

    anyio.run(fill)
    return bookwise


def _question(book: str, answer_id: str, thread_id: str | None = None) -> AskedQuestion:
    return AskedQuestion(
        answer_id=answer_id,
        book_id=book,
        owner="ann",
        thread_id=thread_id,
        asked_at=datetime.now(UTC),
        question="What is a topic?",
        outcome="answered",
        level="high",
        lessons=(QuotedLesson(lesson_id="l", title="Topics", url="https://b.example/topics"),),
    )


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_thread_is_exported_with_all_its_messages(library: CommandLine) -> None:
    assert library("export", "threads") == 0
    (thread,) = lines(library.out)
    assert (thread["thread_id"], thread["owner"], thread["metadata"]) == (THREAD, "ann", {"course": "5"})
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * (MANY // 2)
    assert thread["messages"][0]["content"] == "Question 0 – why?"
    last = thread["messages"][-1]
    assert datetime.fromisoformat(last.pop("timestamp")) > NOW
    said = f"Answer {MANY // 2 - 1}"
    assert last == {"role": "assistant", "content": said, "confidence": 0.5, "complete": True, "details": {}}


def test_questions_and_ratings_are_exported_by_book(library: CommandLine) -> None:
    assert library("export", "questions") == 0
    assert sorted(question["book_id"] for question in lines(library.out)) == ["other", "robots", "robots"]
    assert library("export", "questions", "--book", "other") == 0
    (question,) = lines(library.out)
    assert question["lessons"] == [{"lesson_id": "l", "title": "Topics", "url": "https://b.example/topics"}]
    assert "thumb" not in question
    assert library("export", "feedback") == 0
    (rating,) = lines(library.out)
    assert (rating["answer_id"], rating["thumb"], rating["comment"]) == (RATED, "down", "=1+1 wrong")


def test_an_export_does_not_wait_for_the_process_that_has_the_folder(library: CommandLine, tmp_path: Path) -> None:
    with lock_data_folder(library.data):
        assert library("export", "questions", "--output", "kept.jsonl") == 0
    assert len(lines((tmp_path / "kept.jsonl").read_text())) == 3
    assert stat.S_IMODE((tmp_path / "kept.jsonl").stat().st_mode) == 0o600
    assert library("export", "questions", "--output", "kept.jsonl") == 4


def test_what_cannot_be_exported_is_named(library: CommandLine, tmp_path: Path) -> None:
    assert library("export", "keys") == 2
    assert "threads, questions, feedback" in library.err
    assert library("export", "threads", "--book", "absent") == 3
    library.data = tmp_path / "absent"
    assert library("export", "threads") == 3
    assert not library.data.exists()
