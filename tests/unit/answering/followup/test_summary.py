"""A thread is summed up by what the reader asked about."""

from hypothesis import given
from hypothesis import strategies as st

from bookwise.answering.followup.summary import topic_summary
from bookwise.domain.threads import SUMMARY_MAX
from tests.support.answers import thread


def summary(*texts: str) -> str:
    """Of a thread whose user and assistant take turns."""
    return topic_summary(thread(*texts).messages)


def test_it_names_what_was_asked_about() -> None:
    said = summary("What is a lifecycle node?", "A node with states.", "What is a bag?", "A recording.")
    assert said == "Discussion about lifecycle node, bag"


def test_what_was_asked_about_most_comes_first() -> None:
    said = summary("What is URDF?", "x", "What is Gazebo?", "x", "How do I install Gazebo?", "x")
    assert said.startswith("Discussion about Gazebo")
    assert "URDF" in said


def test_things_are_named_once_as_they_were_first_spelt() -> None:
    assert summary("What is Gazebo?", "x", "And gazebo?", "x") == "Discussion about Gazebo"


def test_the_answers_and_courtesies_add_nothing() -> None:
    assert "Whisper" not in summary("Hello!", "I answer about Whisper.", "What is URDF?", "A format of Whisper.")
    assert summary("Hello!", "Hi.", "Thanks!", "Welcome.") == "Discussion about the book"
    assert summary() == "Discussion about the book"


def test_it_names_at_most_five_things() -> None:
    asked = [f"What is {name}?" for name in ("Zenoh", "Gazebo", "URDF", "Nav2", "Whisper", "SayCan", "OpenVLA")]
    said = summary(*(text for question in asked for text in (question, "x")))
    assert said.count(",") == 4


@given(st.lists(st.text(max_size=400), max_size=12))
def test_it_is_never_longer_than_it_may_be(texts: list[str]) -> None:
    said = summary(*texts)
    assert said.startswith("Discussion about ")
    assert len(said) <= SUMMARY_MAX


def test_very_long_names_are_left_out_rather_than_cut() -> None:
    assert summary(f"What is {'x' * 300}?", "x", "What is URDF?", "x") == "Discussion about URDF"
