"""What a book is calibrated on."""

from bookwise.domain.books import Chunk
from bookwise.evaluation.calibrate import heading_questions, samples_of
from bookwise.evaluation.off_topic import FOREIGN_QUESTIONS
from bookwise.ingestion.discovery.profile import ValidationQuestion
from tests.support.answers import passage


def headed(*titles: str | None) -> list[Chunk]:
    """One chunk per section title."""
    return [passage(section_title=title).chunk for title in titles]


def asked(kind: str, text: str) -> ValidationQuestion:
    return ValidationQuestion.model_validate({"id": "q", "kind": kind, "text": text, "lesson": "a.md"})


def test_a_heading_becomes_questions_once_and_a_question_stays_one() -> None:
    made = heading_questions(headed("Quality of service", "Quality of  service", "Why nodes?", None))
    assert made == (
        "What is Quality of service?",
        "How does Quality of service work?",
        "Why nodes?",
    )


def test_headings_that_say_nothing_make_no_question() -> None:
    assert (
        heading_questions(headed("Introduction", "SUMMARY", "Exercises:", "1. Overview", "3.2", "AI", "x" * 81)) == ()
    )


def test_a_long_book_is_sampled_from_its_beginning_to_its_end() -> None:
    made = heading_questions(headed(*(f"Heading {number:04}" for number in range(1000))))
    assert len(made) == len(set(made)) == 200
    assert "0000" in made[0]
    assert "099" in made[-1]


def test_the_books_own_questions_come_first() -> None:
    own = [asked("answerable", "What is a node?"), asked("off-topic", "Who won?"), asked("near-miss", "Does it sing?")]
    samples = samples_of(own, headed("Quality of service"))
    assert samples.positives == ("What is a node?",)
    assert samples.negatives == ("Who won?", "Does it sing?")
    assert not samples.from_headings
    assert not samples.foreign


def test_headings_and_foreign_questions_stand_in_for_what_is_lacking() -> None:
    samples = samples_of([], headed("Quality of service"))
    assert samples.positives == ("What is Quality of service?", "How does Quality of service work?")
    assert samples.negatives == FOREIGN_QUESTIONS
    assert samples.from_headings
    assert samples.foreign


def test_the_foreign_questions_are_many_and_all_different() -> None:
    assert len(set(FOREIGN_QUESTIONS)) == len(FOREIGN_QUESTIONS) == 64
    assert all(question.endswith("?") for question in FOREIGN_QUESTIONS)
