"""A sentence that turns what the book says into something else is not supported, however similar it sounds."""

import pytest

from bookwise.answering.grounding.statements import NOT, statement
from bookwise.answering.grounding.support import support, supported
from bookwise.domain.answers import Passage
from tests.support.builders import chunks

LIFECYCLE = """A node is a participant in the ROS graph, and it communicates with other nodes over topics.
A lifecycle node has four primary states: unconfigured, inactive, active and finalized. The default timeout of a
service call is 500 ms. A publisher sends messages to a topic, and a subscriber receives them. You must never block
inside a callback. Create a publisher with `create_publisher` before you start the timer.
"""
TRANSPORT = """The reliable policy is slower than the best-effort policy, because it sends lost messages again.
With a depth of 10, the queue drops the oldest message. The map frame is the parent of the odom frame.
Use `ros2 run` to start one node and `ros2 launch` to start several nodes. Static transforms do not need a timestamp.
The camera publishes at 30 Hz and needs at least 8 GB of memory. Gazebo replaces the physics engine of Unity.
Increasing the depth reduces the number of lost messages. Replaying a bag is not allowed while recording.
"""
BOOK = tuple(
    Passage(number=number, chunk=chunk, score=1.0)
    for number, chunk in enumerate(chunks("lifecycle", "r1", LIFECYCLE, TRANSPORT), 1)
)


@pytest.mark.parametrize(
    "sentence",
    [
        # negation
        "A node is not a participant in the ROS graph.",
        "A node is a participant in the ROS graph, but it doesn't communicate with other nodes over topics.",
        "You must block inside a callback.",
        "You can always block inside a callback.",
        "Static transforms need a timestamp.",
        "In ROS 2, replaying a bag is allowed while recording.",
        # numbers and units
        "A lifecycle node has five primary states.",
        "There are 3 primary states of a lifecycle node.",
        "The default timeout of a service call is 500 seconds.",
        "By default, a service call has a timeout of 5000 ms.",
        "The camera publishes at 60 Hz and needs at least 8 GB of memory.",
        "The camera needs at least 8 MB of memory.",
        "With a depth of 30, the queue drops the oldest message.",
        # identifiers and names
        "Create a publisher with `make_publisher` before you start the timer.",
        "Use `ros2 launch` to start one node and `ros2 run` to start several nodes.",
        "Create a publisher with `ros2 launch` before you start the timer.",
        "Unity replaces the physics engine of Gazebo.",
        "The camera needs at least 8 GB of memory. zebracanary-8",
        # order and comparison
        "The best-effort policy is slower than the reliable policy.",
        "The reliable policy is faster than the best-effort policy.",
        "The odom frame is the parent of the map frame.",
        "Create a publisher with `create_publisher` after you start the timer.",
        "The camera needs at most 8 GB of memory.",
        "A topic sends messages to a publisher.",
        # opposites
        "A publisher receives messages from a topic.",
        "With a depth of 10, the queue drops the newest message.",
        "Increasing the depth increases the number of lost messages.",
        "Decreasing the depth reduces the number of lost messages.",
        "Dynamic transforms do not need a timestamp.",
        "The map frame is the child of the odom frame.",
    ],
)
def test_a_contradiction_is_not_supported(sentence: str) -> None:
    assert not supported(sentence, BOOK)


@pytest.mark.parametrize(
    "sentence",
    [
        "In the ROS graph, a node is a participant.",
        "A node is a participant in the ROS graph.",
        "Nodes communicate with other nodes over topics.",
        "Never block inside a callback.",
        "You must not block inside a callback.",
        "You mustn't block in a callback.",
        "A timestamp is not needed by static transforms.",
        "Static transforms don't need a timestamp.",
        "While recording, replaying a bag is forbidden.",
        "There are 4 primary states of a lifecycle node: unconfigured, inactive, active, and finalized.",
        "By default, the timeout of a service call is 0.5 s.",
        "The default timeout of a service call is 500 milliseconds.",
        "The camera needs at least 8 GB of memory and publishes at 30 Hz.",
        "Messages are sent to a topic by a publisher.",
        "A subscriber receives the messages that a publisher sends to a topic.",
        "The best-effort policy is faster than the reliable policy.",
        "Because it sends lost messages again, the reliable policy is slower than the best-effort policy.",
        "The queue drops the oldest message with a depth of 10.",
        "Before you start the timer, create a publisher with `create_publisher`.",
        "To start several nodes, use `ros2 launch`.",
        "The physics engine of Unity is replaced by Gazebo.",
        "No. You must never block inside a callback.",
        "The odom frame has the map frame as its parent.",
    ],
)
def test_the_same_in_other_words_is_supported(sentence: str) -> None:
    assert supported(sentence, BOOK)


def test_a_contradiction_in_one_half_of_a_sentence_is_enough() -> None:
    true = "the default timeout of a service call is 500 ms"
    assert supported(f"A lifecycle node has four primary states, and {true}.", BOOK)
    assert not supported(f"A lifecycle node has six primary states, and {true}.", BOOK)


def test_one_wrong_row_makes_a_table_unsupported() -> None:
    text = "| policy | depth | rate |\n|---|---|---|\n| reliable | 10 | 30 Hz |\n| best effort | 5 | 60 Hz |"
    (chunk,) = chunks("policies", "r1", text)
    book = (Passage(number=1, chunk=chunk, score=1.0),)
    assert supported(text, book)
    assert not supported(text.replace("| 5 |", "| 7 |"), book)


def test_a_sentence_that_the_book_says_elsewhere_is_not_contradicted() -> None:
    text = "The queue holds 10 messages. The queue of the bridge holds 20 messages. It is fast. The bridge is not fast."
    (chunk,) = chunks("queues", "r1", text)
    book = (Passage(number=1, chunk=chunk, score=1.0),)
    for sentence in (
        "The queue of the bridge holds 20 messages.",
        "The queue holds 10 messages.",
        "The bridge is not fast.",
    ):
        assert support(sentence, book) > 0.5


def test_all_spellings_of_a_statement_have_one_sequence() -> None:
    assert (
        statement("The valve isn't opened 3 times.").sequence
        == statement("A valve is not opened three times.").sequence
    )
    assert statement("It cannot wait 5 ms.").sequence == statement("It can't wait 5 milliseconds.").sequence
    assert NOT not in statement("It is not only fast.").sequence
