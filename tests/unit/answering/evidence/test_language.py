"""A question in another language than the book."""

from bookwise.answering.evidence.language import is_in_other_language
from bookwise.domain.books import Book
from tests.support.answers import passage

GERMAN = "Ein Knoten ist ein Prozess, der mit anderen Knoten über benannte Kanäle spricht."
QUESTION = "Was ist ein Knoten und wie starte ich ihn?"
BOOK = Book(id="book", title="Nodes")


def test_a_german_question_about_an_english_book_is_in_another_language() -> None:
    assert is_in_other_language(QUESTION, BOOK, [passage(1)])
    assert is_in_other_language(QUESTION, BOOK, [])


def test_the_text_of_a_german_book_counts_also_when_its_profile_says_nothing() -> None:
    assert not is_in_other_language(QUESTION, BOOK, [passage(1, text=GERMAN)])


def test_the_profile_of_a_german_book_says_so() -> None:
    german = Book(id="book", title="Knoten", language="de-AT")
    assert not is_in_other_language(QUESTION, german, [passage(1)])
    assert is_in_other_language("What is a node and how do I start it?", german, [passage(1, text=GERMAN)])


def test_an_english_question_is_in_the_language_of_its_book() -> None:
    assert not is_in_other_language("What is a node?", BOOK, [passage(1)])
