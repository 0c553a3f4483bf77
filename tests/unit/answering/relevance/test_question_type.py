"""A question is classified by the kind of answer it asks for."""

import pytest

from bookwise.answering.relevance.question_type import QuestionKind, ValueKind, classify_question
from bookwise.text.words import stem

QUESTIONS: list[tuple[str, QuestionKind, ValueKind]] = [
    ("What is a node?", "definition", "any"),
    ("what's a workspace", "definition", "any"),
    ("So what is ownership in Rust?", "definition", "any"),
    ("Define quality of service", "definition", "any"),
    ("What does URDF stand for?", "definition", "any"),
    ("What does `colcon build` do?", "definition", "any"),
    ("What is meant by a closed loop?", "definition", "any"),
    ("Explain lifetimes", "definition", "any"),
    ("Tell me about sourdough", "definition", "any"),
    ("What are ROS 2 topics?", "definition", "any"),
    ("How do I create a workspace?", "procedure", "any"),
    ("How can we install ROS 2 on Ubuntu?", "procedure", "any"),
    ("How to knead dough", "procedure", "any"),
    ("What steps build a package?", "procedure", "any"),
    ("Which command lists the topics?", "procedure", "any"),
    ("Install Gazebo", "procedure", "any"),
    ("My server hangs. What must I do?", "procedure", "any"),
    ("What should I type to start the talker?", "procedure", "any"),
    ("What is the difference between a topic and a service?", "comparison", "any"),
    ("How does a Box differ from a reference?", "comparison", "any"),
    ("Compare butter and oil", "comparison", "any"),
    ("ROS 1 vs ROS 2", "comparison", "any"),
    ("Is apt better than building from source?", "comparison", "any"),
    ("Should I use a topic instead of an action?", "comparison", "any"),
    ("Which is faster, Docker or apt?", "comparison", "any"),
    ("What are the hardware tiers?", "list", "any"),
    ("Which are the primary states?", "list", "any"),
    ("List the sensors", "list", "any"),
    ("Please list all build types", "list", "any"),
    ("Name three kinds of flour", "list", "any"),
    ("What kinds of joints exist?", "list", "any"),
    ("Which quality of service options are there?", "list", "any"),
    ("which attributes does an uploaded file have?", "list", "any"),
    ("What happens when a node stops?", "fact", "any"),
    ("Why does my node freeze?", "reason", "any"),
    ("Why use an action instead of a service?", "reason", "any"),
    ("And why is that?", "reason", "any"),
    ("The robot fell over. Why?", "reason", "any"),
    ("What causes jitter?", "reason", "any"),
    ("What is the reason for two stops?", "reason", "any"),
    ("How many tiers are there?", "fact", "number"),
    ("How long does the dough rest?", "fact", "number"),
    ("What percentage of trials succeeded?", "fact", "number"),
    ("What port does the bridge use?", "fact", "number"),
    ("When was Rust 1.0 released?", "fact", "time"),
    ("In which year did Humble appear?", "fact", "time"),
    ("Who wrote the first compiler?", "fact", "person"),
    ("Who is Ada Lovelace?", "fact", "person"),
    ("Where is the map stored?", "fact", "place"),
    ("Which country grows most rye?", "fact", "place"),
    ("Does Isaac Sim run on an A100?", "fact", "any"),
    ("I can list the topics but receive no messages", "fact", "any"),
    ("Can I freeze bread?", "fact", "any"),
]


@pytest.mark.parametrize(("question", "kind", "value"), QUESTIONS)
def test_a_question_is_classified_by_its_kind_and_the_value_it_asks_for(
    question: str, kind: QuestionKind, value: ValueKind
) -> None:
    result = classify_question(question)
    assert (result.kind, result.value) == (kind, value)


@pytest.mark.parametrize(("question", "kind", "value"), QUESTIONS)
def test_capitals_and_blanks_around_it_change_nothing(question: str, kind: QuestionKind, value: ValueKind) -> None:
    result = classify_question(f"  {question.upper()}\n")
    assert (result.kind, result.value) == (kind, value)


def test_the_terms_are_the_content_words() -> None:
    assert classify_question("How do I create a ROS workspace?").terms == {stem("create"), "ros", stem("workspace")}


def test_the_pairs_are_neighbouring_terms() -> None:
    assert (stem("lifecycle"), stem("node")) in classify_question("What is a lifecycle node?").pairs
    assert classify_question("What is a node?").pairs == frozenset()
