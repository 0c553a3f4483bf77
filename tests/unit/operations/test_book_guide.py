"""Starter questions: the book's own first, then about its titles, and none about a part that every book has."""

from pathlib import Path

import pytest

from bookwise.operations.book_guide import _is_sentence, preferred, read_guide, title_questions
from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.small_book import settings_for

RUST = "The Rust Programming Language"
OWN = """[book]
id = "plates"
title = "Copper Plates"
[[questions]]
id = "lemon"
kind = "answerable"
text = "How do I clean the plate?"
lesson = "docs/cleaning.md"
"""


def test_general_titles_and_the_book_itself_are_left_out() -> None:
    titles = [RUST, "Introduction", "Understanding Ownership", "Foreword", "Smart Pointers", "Installing Cargo"]
    questions = ["What is Ownership?", "What are Smart Pointers?", "How do I install Cargo?"]
    assert title_questions(titles, RUST) == questions
    assert title_questions(["Introduction to Copper Plates", "Acid"], "Copper Plates") == [
        "What does the book say about Acid?"
    ]


def test_titles_that_give_a_good_question_come_first_if_they_are_enough() -> None:
    titles = ["Ownership", "Behind a Proxy", "Generics", "Patterns and Matching", "Concurrency"]
    assert title_questions(titles, RUST) == ["What is Ownership?", "What are Generics?", "What is Concurrency?"]
    assert title_questions(titles[:2], RUST) == ["What is Ownership?", "What does the book say about Behind a Proxy?"]


def test_questions_that_are_sentences_come_before_search_terms() -> None:
    asked = ["topics, services - how?", "What is a node?", "How do I build?", "Why a graph?", "ros2 topic list"]
    assert preferred(asked, _is_sentence) == ["What is a node?", "How do I build?", "Why a graph?"]


@pytest.mark.anyio
async def test_one_question_of_the_book_is_completed_from_titles_and_headings(tmp_path: Path) -> None:
    lessons = {
        "bookwise.toml": OWN,
        "docs/cleaning.md": "# Cleaning the plate\n\nUse lemon juice.\n\n## Polishing cloths\n\nTake a soft one.\n",
        "docs/etching.md": "# Etching\n\nThe acid bites.\n\n## Installing the bath\n\nPut it near a window.\n",
    }
    async with open_app(settings_for(tmp_path / "data", embedder="hashing")) as app:
        await ingested(app, write_book(tmp_path / "plates", lessons), book_id="plates")
        (book,) = await app.catalog.books()
        guide = await read_guide(book, app)
    assert guide.questions == (
        "How do I clean the plate?",
        "What does the book say about Etching?",
        "What does the book say about Polishing cloths?",
        "How do I install the bath?",
    )
