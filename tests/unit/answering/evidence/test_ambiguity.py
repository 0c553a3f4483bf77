"""A question that names no subject is asked back when it fits several lessons equally well."""

from dataclasses import replace

import pytest

from bookwise.answering.evidence.ambiguity import CHOICES_MAX, choices
from bookwise.domain.answers import Passage
from tests.support.answers import passage

EQUAL = (("apt", 0.9), ("docker", 0.88), ("gazebo", 0.85))


def of_lesson(lesson: str, number: int, score: float) -> Passage:
    made = passage(number, score)
    return replace(made, chunk=replace(made.chunk, lesson_id=lesson))


def offered(question: str, *found: tuple[str, float]) -> list[tuple[str, int]]:
    passages = [of_lesson(lesson, number, score) for number, (lesson, score) in enumerate(found, 1)]
    return [(choice.chunk.lesson_id, choice.number) for choice in choices(question, passages)]


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "How do I run this?",
        "What is the first step?",
        "How to set up?",
        "help",
        "Which version?",
    ],
)
def test_a_question_without_a_subject_offers_each_lesson_that_fits(question: str) -> None:
    assert offered(question, *EQUAL) == [("apt", 1), ("docker", 2), ("gazebo", 3)]


@pytest.mark.parametrize(
    "question",
    ["How do I install Gazebo?", "How do I run the talker?", "What is the first step of a walk?", "Which ROS version?"],
)
def test_a_question_that_names_its_subject_is_not_asked_back(question: str) -> None:
    assert offered(question, *EQUAL) == []


def test_one_lesson_is_no_choice() -> None:
    assert offered("How do I install it?", ("apt", 0.9), ("apt", 0.89)) == []
    assert offered("How do I install it?", ("apt", 0.9)) == []
    assert offered("How do I install it?") == []


def test_each_lesson_is_offered_once_by_its_best_passage() -> None:
    found = (("apt", 0.9), ("apt", 0.89), ("docker", 0.88), ("docker", 0.87))
    assert offered("How do I install it?", *found) == [("apt", 1), ("docker", 3)]


def test_a_lesson_that_fits_much_worse_is_not_offered() -> None:
    assert offered("How do I install it?", ("apt", 0.9), ("docker", 0.85), ("far", 0.7)) == [("apt", 1), ("docker", 2)]
    assert offered("How do I install it?", ("apt", 0.9), ("far", 0.7)) == []


def test_no_more_than_a_handful_are_offered() -> None:
    found = [(f"lesson {number}", 0.9) for number in range(CHOICES_MAX + 3)]
    assert len(offered("How do I install it?", *found)) == CHOICES_MAX
