"""A question is classified by the kind of answer it asks for."""

from time import process_time

import pytest

from bookwise.answering.relevance.question_patterns import QuestionKind, ValueKind
from bookwise.answering.relevance.question_type import classify_question
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
    ("How do I create a workspace?", "how-to", "any"),
    ("How can we install ROS 2 on Ubuntu?", "how-to", "any"),
    ("How to knead dough", "how-to", "any"),
    ("What steps build a package?", "steps", "any"),
    ("Which command lists the topics?", "command", "any"),
    ("Install Gazebo", "how-to", "any"),
    ("My server hangs. What must I do?", "how-to", "any"),
    ("What should I type to start the talker?", "command", "any"),
    ("What is the difference between a topic and a service?", "difference", "any"),
    ("How does a Box differ from a reference?", "difference", "any"),
    ("Compare butter and oil", "difference", "any"),
    ("ROS 1 vs ROS 2", "difference", "any"),
    ("Is apt better than building from source?", "difference", "any"),
    ("Should I use a topic instead of an action?", "difference", "any"),
    ("Which is faster, Docker or apt?", "difference", "any"),
    ("What are the hardware tiers?", "list", "any"),
    ("Which are the primary states?", "list", "any"),
    ("List the sensors", "list", "any"),
    ("Please list all build types", "list", "any"),
    ("Name three kinds of flour", "list", "any"),
    ("What kinds of joints exist?", "list", "any"),
    ("Which quality of service options are there?", "list", "any"),
    ("which attributes does an uploaded file have?", "list", "any"),
    ("What happens when a node stops?", "other", "any"),
    ("Why does my node freeze?", "why", "any"),
    ("Why use an action instead of a service?", "why", "any"),
    ("And why is that?", "why", "any"),
    ("The robot fell over. Why?", "why", "any"),
    ("What causes jitter?", "why", "any"),
    ("What is the reason for two stops?", "why", "any"),
    ("How many tiers are there?", "value", "number"),
    ("How long does the dough rest?", "value", "number"),
    ("What percentage of trials succeeded?", "value", "number"),
    ("What port does the bridge use?", "value", "number"),
    ("When was Rust 1.0 released?", "value", "time"),
    ("In which year did Humble appear?", "value", "time"),
    ("Who wrote the first compiler?", "value", "person"),
    ("Who is Ada Lovelace?", "value", "person"),
    ("Where is the map stored?", "value", "place"),
    ("Which country grows most rye?", "value", "place"),
    ("Does Isaac Sim run on an A100?", "yes-no", "any"),
    ("I can list the topics but receive no messages", "troubleshooting", "any"),
    ("Can I freeze bread?", "yes-no", "any"),
    ("The dough is wet. will it still rise?", "yes-no", "any"),
    ("My oven is small. How?", "other", "any"),
    ("walk me through the first build", "steps", "any"),
    ("Turn a folder into a package", "how-to", "any"),
    ("ferment the dough overnight", "how-to", "any"),
    ("I want to bake without yeast", "how-to", "any"),
    ("is there a way to slow it down", "how-to", "any"),
    ("Show me how to shape a loaf", "how-to", "any"),
    ("Show me a publisher", "code", "any"),
    ("package.xml snippet for messages", "code", "any"),
    ("python function for the mean", "code", "any"),
    ("What do I put in setup.py?", "code", "any"),
    ("one-liner that removes all containers", "command", "any"),
    ("all states as a table", "table", "any"),
    ("How do I fix a frozen node?", "troubleshooting", "any"),
    ("error: linker not found", "troubleshooting", "any"),
    ("my node crashes after a minute", "troubleshooting", "any"),
    ("the camera does not show up", "troubleshooting", "any"),
    ("I start the robot and I get an empty map", "troubleshooting", "any"),
    ("the endpoint answers with a 404", "troubleshooting", "any"),
    ("What is the point of a lock file?", "why", "any"),
    ("default baking time of a loaf", "value", "any"),
    ("Which edition does the compiler assume?", "value", "any"),
    ("What is the bread of Lyon called?", "value", "any"),
    ("disadvantages of a wet dough", "list", "any"),
    ("what do I need for a pizza", "list", "any"),
    ("QoS?", "definition", "any"),
    ("loop label", "keyword", "any"),
    ("response_model_exclude_unset", "keyword", "any"),
    ("Bread rises slowly in a cold room", "other", "any"),
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


def test_the_sentences_that_ask_decide_not_the_story_before_them() -> None:
    story = "I get an error when the oven is cold and everything fails."
    assert classify_question(f"{story} What is a proofing basket?").kind == "definition"
    assert classify_question(story).kind == "troubleshooting"


def test_code_in_a_question_does_not_decide() -> None:
    assert classify_question("What is a future?\n```\nerror: why does it fail\n```").kind == "definition"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How do I write a publisher in Python?", "python"),
        ("give me the yaml file for it", "yaml"),
        ("xml lines that go into package.xml", "xml"),
        ("python: create a node", "python"),
        ("what do I put in Cargo.toml", "toml"),
        ("write a loop in C++", "cpp"),
        ("how do i remove rust from my laptop", ""),
        ("What is ownership in Rust?", ""),  # wants no code
    ],
)
def test_the_language_of_the_code_is_the_one_the_question_names(question: str, language: str) -> None:
    assert classify_question(question).language == language


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Show me a publisher", {"code"}),
        ("Which command lists the topics?", {"code"}),
        ("How do I create a workspace?", {"list", "code"}),
        ("Which joint types exist?", {"list", "table"}),
        ("What is a node?", {"paragraph"}),
        ("loop label", {"paragraph", "list", "code", "table"}),
    ],
)
def test_a_kind_says_which_blocks_can_answer(question: str, wanted: set[str]) -> None:
    assert classify_question(question).wanted == wanted


@pytest.mark.parametrize("piece", ["a", "what is a ", "so ", "which as ", "a=b\n", "error ", "`", "? "])
def test_the_longest_question_is_classified_at_once(piece: str) -> None:
    started = process_time()
    classify_question(piece * (1000 // len(piece)) + "!")
    assert process_time() - started < 0.2
