"""The questions of the sample book: what they expect stands in the book, and they are of all types that readers ask."""

from collections import Counter
from functools import cache

import pytest

from bookwise.domain.books import Lesson
from bookwise.evaluation.dataset import read_questions
from bookwise.evaluation.usefulness import flat
from bookwise.ingestion.discover import discover
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.ingestion.parse import parse
from tests.support.apps import SAMPLE_BOOK

QUESTIONS = read_questions(SAMPLE_BOOK / "bookwise.toml")
WITH_FACTS = [question for question in QUESTIONS if question.contains]
TYPES = {
    "code", "command", "definition", "difference", "how-to", "keyword", "list", "long", "steps", "table",
    "troubleshooting", "typo", "value", "why", "yes-no",
}  # fmt: skip


@cache
def lessons() -> dict[str, Lesson]:
    """The parsed lessons by their file."""
    files = discover(SAMPLE_BOOK).files
    return {file.source_file: parse(file, (SAMPLE_BOOK / file.source_file).read_bytes()) for file in files}


def text_of(lesson: Lesson) -> str:
    return flat("\n".join(block.text for section in lesson.sections for block in section.blocks))


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.lesson], ids=lambda question: question.id)
def test_the_expected_lesson_and_section_exist(question: ValidationQuestion) -> None:
    lesson = lessons()[question.lesson or ""]
    assert question.section in {None, *(section.anchor for section in lesson.sections)}


@pytest.mark.parametrize("question", WITH_FACTS, ids=lambda question: question.id)
def test_every_fact_is_a_short_quote_from_its_lesson(question: ValidationQuestion) -> None:
    text = text_of(lessons()[question.lesson or ""])
    for wordings in question.contains:
        for wording in wordings:
            assert flat(wording) in text, wording
            assert len(wording.split()) <= 8, wording


def test_sixty_questions_of_all_types_name_facts() -> None:
    counts = Counter(question.type or question.kind for question in WITH_FACTS)
    assert sum(counts.values()) >= 60
    assert set(counts) == TYPES | {"follow-up"}
    assert min(counts.values()) >= 3


def test_long_questions_are_long_and_keywords_are_few() -> None:
    words = [(question.type, len(question.text.split())) for question in WITH_FACTS]
    assert all(count >= 40 for type_, count in words if type_ == "long")
    assert all(count <= 3 for type_, count in words if type_ == "keyword")


def test_no_question_is_a_heading_or_a_sentence_of_the_book() -> None:
    for question in WITH_FACTS:
        if question.type != "keyword":
            text = text_of(lessons()[question.lesson or ""])
            assert flat(question.text).strip(" ?.") not in text, question.text
