"""On the sample book: sentences that contradict it are rejected, written by hand or by rules, and paraphrases pass."""

import pytest
from benchmarks.contradictions import SAMPLE_BOOK, Case, cases, lessons
from benchmarks.rewrites import EDITS, PARAPHRASES

from bookwise.answering.grounding.support import supported
from bookwise.domain.answers import Passage

PER_RULE = 14
REJECTED, PASSED = 0.90, 0.85  #: the least share of edits and of paraphrases


@pytest.fixture(scope="module")
def made() -> tuple[list[Case], list[Case]]:
    return cases(SAMPLE_BOOK, PER_RULE)


@pytest.fixture(scope="module")
def book() -> dict[str, tuple[Passage, ...]]:
    """The passages of each lesson, by its file."""
    return {
        lesson[0].locator.source_file.rpartition("/")[2]: tuple(
            Passage(number=number, chunk=chunk, score=1.0) for number, chunk in enumerate(lesson, 1)
        )
        for lesson in lessons(SAMPLE_BOOK)
    }


def share(verdicts: list[bool]) -> float:
    return sum(verdicts) / len(verdicts)


@pytest.mark.parametrize(
    ("lesson", "sentence"),
    [
        ("03-nodes.md", "A node is not a participant in the ROS graph."),
        ("03-nodes.md", "A node is the same as a process."),
        ("03-nodes.md", "A process may not contain several nodes."),
        ("03-nodes.md", "ROS 2 prevents two nodes from having the same fully qualified name."),
        ("03-nodes.md", "Names consist of letters, digits, and underscores and begin with a digit."),
        ("03-nodes.md", "Five calls form its skeleton."),
        ("03-nodes.md", "`rclpy.start_node()` parses the ROS arguments of the command line."),
        (
            "03-nodes.md",
            "`rclpy.try_shutdown()` parses the ROS arguments of the command line and sets up the *context*.",
        ),
        ("01-topics.md", "The default profile is reliable, volatile, keep last with depth 20."),
        ("01-topics.md", "The predefined sensor data profile is best effort, volatile, keep last with depth 10."),
        ("01-topics.md", "Nodes find one another only if they share the same `ROS_NODE_ID`."),
        ("01-topics.md", "They connect only if the offer is at most as strict as the request."),
        ("01-topics.md", "A late image is worth more than the next one."),
        ("01-what-simulation-is-for.md", "An RTF above 1 is slower than reality."),
        ("01-what-simulation-is-for.md", "An RTF of 0.5 means that one simulated second takes four real seconds."),
        (
            "01-what-simulation-is-for.md",
            "With Gazebo's default step of 1 s, an RTF of 1 requires 1,000 steps per second.",
        ),
        ("01-what-simulation-is-for.md", "Gazebo shows the current value in the upper right corner of its window."),
        ("02-sensors.md", "The update rate can exceed the physics rate."),
        ("02-sensors.md", "The physics rate cannot exceed the update rate."),
        ("03-capstone.md", "The supervisor is the largest node of the system."),
        ("03-capstone.md", "Every node publishes a heartbeat at 50 Hz, the walking controller at 10 Hz."),
    ],
)
def test_a_contradiction_is_rejected(book: dict[str, tuple[Passage, ...]], lesson: str, sentence: str) -> None:
    assert not supported(sentence, book[lesson])


@pytest.mark.parametrize(
    ("lesson", "sentence"),
    [
        ("03-nodes.md", "In the ROS graph, a node is a participant with a unique name."),
        ("03-nodes.md", "A node isn't the same as a process: a process may contain several nodes."),
        ("03-nodes.md", "4 calls form its skeleton."),
        ("03-nodes.md", "The ROS arguments of the command line are parsed by `rclpy.init()`."),
        ("01-topics.md", "By default, the profile is reliable and volatile, and keeps the last 10 messages."),
        ("01-topics.md", "Nodes that share the same `ROS_DOMAIN_ID` find one another."),
        ("01-what-simulation-is-for.md", "Gazebo's default step is 1 millisecond."),
        (
            "01-what-simulation-is-for.md",
            "For training and batch tests, an RTF above 1 is useful: it is faster than reality.",
        ),
        ("02-sensors.md", "The physics rate can't be exceeded by the update rate."),
        ("03-capstone.md", "A heartbeat is published at 10 Hz by every node."),
    ],
)
def test_the_same_in_other_words_passes(book: dict[str, tuple[Passage, ...]], lesson: str, sentence: str) -> None:
    assert supported(sentence, book[lesson])


def test_edits_are_rejected(made: tuple[list[Case], list[Case]]) -> None:
    edits, _ = made
    assert len(edits) >= 200
    assert len({case.rule for case in edits}) >= len(EDITS) - 1
    assert share([not supported(case.text, case.passages) for case in edits]) >= REJECTED


def test_paraphrases_pass(made: tuple[list[Case], list[Case]]) -> None:
    _, paraphrases = made
    assert len(paraphrases) >= 140
    assert len({case.rule for case in paraphrases}) >= len(PARAPHRASES) - 2
    assert share([supported(case.text, case.passages) for case in paraphrases]) >= PASSED


def test_the_book_does_not_contradict_itself(made: tuple[list[Case], list[Case]]) -> None:
    originals = {case.original: case.passages for case in made[0]}
    assert share([supported(text, passages) for text, passages in originals.items()]) > 0.99
