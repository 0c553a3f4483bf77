"""The messages that Bookwise itself writes."""

from bookwise.answering.messages import NOT_IN_THE_BOOK, other_language, refusal, small_talk, title, which_one
from tests.support.answers import passage


def test_a_refusal_without_neighbours_only_refuses() -> None:
    assert refusal(()) == NOT_IN_THE_BOOK


def test_a_refusal_says_what_the_book_covers_and_where() -> None:
    message = refusal([passage(1), passage(2, section_title=None)])
    assert message == f"{NOT_IN_THE_BOOK} The book covers “Talking” in “Nodes” [1]. The book covers “Nodes” [2]."


def test_a_question_in_another_language_gets_the_name_of_the_books_language() -> None:
    assert other_language("de") == "I can only answer in German."


def test_a_question_back_lists_the_choices() -> None:
    message = which_one([passage(1), passage(3, section_title="Listening")])
    assert message.endswith("\n\n- Nodes › Talking [1]\n- Nodes › Listening [3]")
    assert "Which one do you mean?" in message


def test_a_passage_is_named_by_lesson_and_section() -> None:
    assert title(passage(1)) == "Nodes › Talking"


def test_a_section_that_repeats_the_lesson_or_has_no_name_is_left_out() -> None:
    assert title(passage(1, section_title="Nodes")) == "Nodes"
    assert title(passage(1, section_title=None)) == "Nodes"
    assert title(passage(1, section_title="")) == "Nodes"


def test_small_talk_names_the_book() -> None:
    assert "“Baking Bread”" in small_talk("Baking Bread")
