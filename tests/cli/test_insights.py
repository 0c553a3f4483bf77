"""`bookwise insights`: what the author reads in the terminal."""

import csv
import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest

from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.schemas.insights import InsightsResponse
from tests.support.apps import hashing_app, ingested, write_book
from tests.support.command_line import CommandLine
from tests.support.program import PROGRAM, environment
from tests.support.serve_process import serving

ARMS = QuotedLesson(lesson_id="arms", title="Arms\x1b[31m [bold]", url="https://book.example/arms")


def asked(question: str, *, days_ago: int = 0, **facts: Any) -> AskedQuestion:
    usual: dict[str, Any] = {"outcome": "refused", "reason": "not-in-the-book"}
    return AskedQuestion(
        answer_id=str(uuid4()),
        book_id="robots",
        owner="key_0123456789ab",
        asked_at=datetime.now(UTC) - timedelta(days=days_ago),
        question=question,
        **usual | facts,
    )


def answered(question: str, **facts: Any) -> AskedQuestion:
    return asked(question, **{"outcome": "answered", "reason": "", "level": "high", "lessons": (ARMS,), **facts})


def note(data: Path, *notes: AskedQuestion) -> None:
    """What a service would have noted."""

    async def keep() -> None:
        async with hashing_app(data) as app:
            for one in notes:
                await app.journal.note(one)

    anyio.run(keep)


@pytest.fixture
def book(bookwise: CommandLine, tmp_path: Path) -> CommandLine:
    """A book that was ingested, and nobody has asked yet."""
    lesson = {"a.md": "# Arms\n\nAn arm has six joints and one hand.\n"}
    assert bookwise("ingest", str(write_book(tmp_path / "robots", lesson))) == 0
    return bookwise


def test_before_anybody_asked_it_says_so_and_how_questions_get_there(book: CommandLine) -> None:
    assert book("insights") == 0
    assert "No questions about “Robots” in the last 30 days." in book.out
    assert "bookwise serve" in book.out
    assert book.err == ""


def test_what_the_book_does_not_answer_comes_first_by_subject_then_lessons_then_days(book: CommandLine) -> None:
    note(
        book.data,
        asked("How do I calibrate the lidar?"),
        asked("What does a lidar cost?", days_ago=1),
        asked("Which gripper do I buy?"),
        answered("How many joints has an arm?"),
        answered("What is a hand?", level="low", thumb="down", comment="Which hand?"),
        asked("hello", reason="small-talk"),
    )
    assert book("insights", "--days", "7") == 0
    assert "5 questions: 2 answered, 3 refused" in book.out
    wanted = [
        "Without an answer",
        "2 × lidar",
        "- How do I calibrate the lidar?",
        "- What does a lidar cost?",
        "1 × gripper",
        "low confidence",
        "1 × hand",
        "Most requested lessons",
        "2 × Arms",
        "0 up, 1 down (0% up)",
        "Which hand?",
        "Refused questions per day",
        "·····█▅",
    ]
    places = [book.out.find(text) for text in wanted]
    assert -1 not in places, dict(zip(wanted, places, strict=True))
    assert places == sorted(places)


def test_no_text_of_a_reader_or_a_book_commands_the_terminal(book: CommandLine) -> None:
    note(
        book.data,
        asked("Where is the \x1b]0;lidar\x07 [red]port[/]?\nhere"),
        answered("x", thumb="down", comment="\x1b[2J"),
    )
    assert book("insights") == 0
    assert "\x1b" not in book.out
    assert "\x07" not in book.out
    assert "[red]port[/]? here" in book.out
    assert "[bold]" in book.out


def test_json_tells_the_same_as_the_service(book: CommandLine) -> None:
    note(book.data, asked("How do I calibrate the lidar?"), answered("What is an arm?"))
    told = book.json("insights", "--days", "3")
    found = InsightsResponse.model_validate(told)
    assert (found.book_id, found.days, found.totals.asked) == ("robots", 3, 2)
    assert [group.name for group in found.unanswered] == ["lidar"]
    assert book.json("insights", "--book", "robots", "--days", "3") == told


def test_csv_has_every_question_without_addresses_keys_and_formulas(book: CommandLine) -> None:
    note(book.data, asked("=1+1 for ann@uni.example"), answered("What is an arm?", thumb="down", comment="-2"))
    assert book("insights", "--csv") == 0
    head, *rows = list(csv.reader(io.StringIO(book.out)))
    assert head[:3] == ["asked_at", "question", "outcome"]
    assert {(row[1], row[6]) for row in rows} == {("'=1+1 for [e-mail]", ""), ("What is an arm?", "'-2")}


def test_only_the_days_asked_for_are_counted(book: CommandLine) -> None:
    note(book.data, asked("a lidar?"), asked("a lidar?", days_ago=5))
    assert book.json("insights", "--days", "5")["totals"]["asked"] == 1
    assert book.json("insights", "--days", "6")["totals"]["asked"] == 2


def test_what_the_author_asks_on_the_command_line_is_not_counted(book: CommandLine) -> None:
    assert book("ask", "How many joints does an arm have?") in (0, 1)
    assert book.json("insights")["totals"]["asked"] == 0


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_service_that_holds_the_data_folder_tells_what_its_readers_asked(tmp_path: Path) -> None:
    root = write_book(tmp_path / "robots", {"a.md": "# Arms\n\nAn arm has six joints and one hand.\n"})
    data = tmp_path / "data"
    async with hashing_app(data) as app:
        await ingested(app, root, book_id="robots")
    hashing = {"BOOKWISE_EMBEDDER": "hashing"}
    async with serving(data, **hashing) as served:
        async with httpx2.AsyncClient(base_url=served.url, timeout=30) as client:
            (await client.post("/chat/run", json={"message": "Which lidar do I buy?"})).raise_for_status()
        command, settings = [PROGRAM, "insights", "--json"], environment(data, **hashing)
        told = await anyio.run_process(command, env=settings, cwd=tmp_path)
    assert [group.name for group in InsightsResponse.model_validate_json(told.stdout).unanswered] == ["lidar"]


@pytest.mark.parametrize("days", ["0", "91", "many"])
def test_days_that_are_not_kept_end_with_2(book: CommandLine, days: str) -> None:
    assert book("insights", "--days", days) == 2
    assert book.out == ""


def test_a_book_that_is_not_there_ends_with_3(book: CommandLine) -> None:
    assert book("insights", "--book", "rust") == 3
    assert "rust" in book.err


def test_without_any_book_it_says_how_to_begin(bookwise: CommandLine) -> None:
    assert bookwise("insights") == 3
    assert "bookwise ingest" in bookwise.err
