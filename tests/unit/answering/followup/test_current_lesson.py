"""`this lesson` in a question means the page that the reader has open."""

from datetime import UTC, datetime

import pytest

from bookwise.answering.followup.current_lesson import lesson_at, mentions_current_lesson, with_lesson_title
from bookwise.domain.books import LessonPosition
from bookwise.domain.jobs import LessonRecord


def record(lesson_id: str, url: str) -> LessonRecord:
    return LessonRecord(
        book_id="book",
        source_file=f"{lesson_id}.md",
        lesson_id=lesson_id,
        revision="1",
        file_hash="0",
        position=LessonPosition(module="water"),
        title=lesson_id.title(),
        url=url,
        chunk_ids=(),
        ingested_at=datetime.now(UTC),
    )


RECORDS = [
    record("draft", ""),
    record("start", "https://book.example/docs/"),
    record("drip", "https://book.example/docs/water/drip"),
    record("mdbook", "https://book.example/docs/water/spray.html"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does this page say about salt?", True),
        ("Summarize the current lesson", True),
        ("Explain This  Section.", True),
        ("Does this robot roll?", False),
        ("What is a page?", False),
        ("Who wrote this book?", False),
    ],
)
def test_a_question_about_the_open_page_is_detected(text: str, expected: bool) -> None:
    assert mentions_current_lesson(text) is expected


@pytest.mark.parametrize(
    ("url", "lesson_id"),
    [
        ("https://book.example/docs/water/drip", "drip"),
        ("https://book.example/docs/water/drip/", "drip"),
        ("https://book.example/docs/water/drip/index.html?q=1#valves", "drip"),
        ("http://localhost:3000/docs/water/Drip.html", "drip"),
        ("https://book.example/docs/water/spray", "mdbook"),
        ("https://book.example/docs/index.html", "start"),
        ("https://book.example/docs/water", None),
        ("https://book.example/", None),
        ("", None),
        ("http://[", None),
    ],
)
def test_a_page_is_found_by_its_path_on_any_host_and_in_any_spelling(url: str, lesson_id: str | None) -> None:
    found = lesson_at(url, RECORDS)
    assert (found.id if found else None) == lesson_id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is this lesson about?", "What is Drip about?"),
        ("Explain this section", "Explain Drip"),
        ("Which valve is used on this page?", "Which valve is used?"),
        ("According to this lesson, when does the valve open?", "when does the valve open?"),
        ("What is in this chapter?", "What is in Drip?"),
    ],
)
def test_the_question_is_searched_for_with_the_title_or_without_the_place(text: str, expected: str) -> None:
    assert with_lesson_title(text, "Drip") == expected


def test_a_title_is_text_and_not_a_pattern() -> None:
    assert with_lesson_title("Explain this page", r"\1 C:\g<0>") == r"Explain \1 C:\g<0>"
