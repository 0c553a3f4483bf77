"""A question is read with its thread: what it leaves out comes from before, and what it says itself stays."""

from dataclasses import replace

import pytest

from bookwise.answering.followup.resolve import RESOLVED_MAX, resolve
from bookwise.domain.threads import ThreadMessage
from bookwise.text.small_talk import is_small_talk
from tests.support.builders import NOON

NODE = ("What is a ROS 2 node?", "A node is a process that performs computation [1].")
INSTALL = ("How do I install ROS 2?", "Add the apt repository, then install the desktop packages [1].")
PUBLISHER = ("How do I create a publisher in C++?", "Call create_publisher on the node [1].")
COMPARED = ("What is the difference between topics and services?", "Topics are streams, services are calls [1].")
SIMULATOR = ("Which simulator does the book use?", "The exercises run in Gazebo [1].")
WHICH_ONE = (
    "How do I install it?",
    "Several lessons match your question. Which one do you mean?\n\n- ROS 2 › Installation [1]\n- Gazebo › Setup [2]",
)


def thread(*said: str) -> list[ThreadMessage]:
    """Messages that take turns, a user first."""
    return [
        ThreadMessage(role="user" if turn % 2 == 0 else "assistant", content=text, timestamp=NOON)
        for turn, text in enumerate(said)
    ]


def searched(question: str, *said: str) -> str:
    return resolve(question, thread(*said)).text


@pytest.mark.parametrize(
    "question",
    [
        "how do I create one?",
        "Is it faster?",
        "What is that?",
        "why is that?",
        "How do I debug this?",
        "how do I fix that error?",
        "what are its limits?",
        "How do they talk to each other?",
        "Does Nav2 use them?",
        "What happens if it crashes?",
        "When should I use it instead of a service?",
        "How do I start everything that is listed there?",
    ],
)
def test_a_pronoun_brings_the_thing_it_stands_for(question: str) -> None:
    assert searched(question, *NODE) == f"{question} (ROS 2 node)"


@pytest.mark.parametrize(
    "question",
    [
        "Why?",
        "how much?",
        "tell me more",
        "Can you give an example?",
        "yes",
        "go on",
        "please continue",
        "can you elaborate?",
        "what else?",
        "Show me the code",
        "what are the benefits?",
        "What is the difference?",
        "is there a better way?",
        "show me an example in C++",
    ],
)
def test_a_question_without_a_subject_gets_that_of_the_thread(question: str) -> None:
    assert searched(question, *NODE) == f"{question} (ROS 2 node)"


@pytest.mark.parametrize(
    "question",
    [
        "What is a launch file?",
        "How do I install Gazebo?",
        "What sensors does the TurtleBot have?",
        "What is a topic and how do I use it?",
        "If a lidar fails, is it restarted?",
        "How does a robot find its position?",
        "Is it possible to launch two simulators from one file?",
        "How long does it take to charge the battery?",
        "Can a class that inherits also override?",
        "In Isaac Sim, how do I add a camera?",
        "What does this book say about URDF?",
        "give me an example of a quaternion",
        "What is a goal?",
        "what are topics?",
        "How do I create a list?",
        "How do I use Option?",
        "How do I run a container?",
        "Is Gazebo faster than Webots?",
        "Inverse kinematics",
        "  What is SLAM? ",
        "   ",
        "What does this print?\n```python\nprint(it)\n```",
    ],
)
def test_a_question_that_stands_alone_is_left_byte_for_byte(question: str) -> None:
    resolved = resolve(question, thread(*NODE))
    assert resolved.text == question
    assert not resolved.is_followup


@pytest.mark.parametrize(
    "question",
    [
        "do I need any equipment",
        "anything for beginners?",
        "and in which order do they run if I add two of them?",
        "but which language?",
        "Latency",
    ],
)
def test_a_turn_that_goes_on_carries_the_topic_of_the_thread(question: str) -> None:
    assert searched(question, *NODE) == f"{question} (ROS 2 node)"


@pytest.mark.parametrize(
    "question",
    [
        "By the way, do I need a graphics card?",
        "and one more question: which Python versions are supported?",
        "So if I write a controller for the arm in Python, which of the two simulators in the book can load it?",
    ],
)
def test_a_turn_that_changes_the_subject_or_names_its_own_carries_nothing(question: str) -> None:
    assert searched(question, *NODE) == question


def test_the_topic_is_what_the_answer_took_up_not_the_verbs_of_the_question() -> None:
    exchange = ("Could you summarize the firmware of the gripper?", "The firmware closes the gripper at 5 N [1].")
    assert searched("do I need a license?", *exchange) == "do I need a license? (firmware, gripper)"


@pytest.mark.parametrize(
    ("question", "resolved"),
    [
        ("oh I meant topics", "What are topics?"),
        ("sorry, I meant the ROS 1 node", "What is ROS 1 node?"),
        ("no, I mean a lidar", "What is lidar?"),
        ("Not the ROS 2 node, I was asking about topics", "What are topics?"),
        ("I meant topics, not the ROS 2 node", "What are topics?"),
    ],
)
def test_a_correction_takes_the_place_of_what_was_wrong(question: str, resolved: str) -> None:
    assert searched(question, *NODE) == resolved


def test_a_correction_of_an_unclear_thing_keeps_the_previous_question() -> None:
    assert searched("I meant actions", *COMPARED) == ("actions (What is the difference between topics and services)")
    assert searched("I meant servers", *COMPARED) == "What is the difference between topics and servers?"


@pytest.mark.parametrize("question", ["how do I create one?", "Why?", "what about Gazebo?", "the second one"])
def test_nothing_is_changed_without_a_thread(question: str) -> None:
    assert not resolve(question, []).is_followup
    assert searched(question) == question


@pytest.mark.parametrize(
    ("question", "before", "expected"),
    [
        ("And in Python?", PUBLISHER, "How do I create a publisher in Python?"),
        ("in Python?", PUBLISHER, "How do I create a publisher in Python?"),
        ("on Windows?", INSTALL, "How do I install ROS 2 on Windows?"),
        ("what about gazebo?", INSTALL, "How do I install gazebo?"),
        ("And Gazebo?", INSTALL, "How do I install Gazebo?"),
        ("what about services?", NODE, "What are services?"),
        ("how about an action?", NODE, "What is an action?"),
    ],
)
def test_an_ellipsis_is_the_question_before_about_another_thing(
    question: str, before: tuple[str, str], expected: str
) -> None:
    assert searched(question, *before) == expected


def test_an_ellipsis_keeps_the_whole_question_before_where_its_place_is_not_certain() -> None:
    expected = "what about a subscriber? (How do I create a publisher in C++)"
    assert searched("what about a subscriber?", *PUBLISHER) == expected


@pytest.mark.parametrize("question", ["which is better?", "Which one is faster?", "what is the difference?"])
def test_a_comparison_is_between_the_things_just_named(question: str) -> None:
    assert searched(question, *COMPARED) == f"{question} (topics, services)"


def test_a_comparison_with_one_side_missing_gets_it_from_the_thread() -> None:
    assert "Gazebo" in searched("Is Webots faster?", *SIMULATOR)


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("tell me more about the second one", "services"),
        ("the first one", "topics"),
        ("When should I use the latter?", "services"),
    ],
)
def test_an_ordinal_picks_from_the_things_just_named(question: str, thing: str) -> None:
    assert searched(question, *COMPARED) == f"{question} ({thing})"


def test_an_ordinal_picks_from_the_list_in_the_answer_first() -> None:
    answer = "There are three:\n1. **Camera**: sees\n2. **Lidar**: measures\n3. **IMU**: feels [1]"
    assert searched("how does the second one work?", "Which sensors are there?", answer).endswith("(sensors, IMU)")
    assert searched("Tell me about the second one", "Which sensors are there?", answer).endswith("(Lidar)")


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("the first one", "ROS 2 › Installation"),
        ("The second.", "Gazebo › Setup"),
        ("2", "Gazebo › Setup"),
        ("[1]", "ROS 2 › Installation"),
        ("Gazebo", "Gazebo › Setup"),
        ("gazebo › setup", "Gazebo › Setup"),
    ],
)
def test_a_reply_to_a_question_back_completes_the_question_asked(reply: str, choice: str) -> None:
    resolved = resolve(reply, thread(*WHICH_ONE))
    assert (resolved.text, resolved.choice) == (f"How do I install it? ({choice})", choice)


@pytest.mark.parametrize(
    ("reply", "text"), [("Isaac Sim", "How do I install it? (Isaac Sim)"), ("3", "How do I install it? (3)")]
)
def test_a_reply_that_names_no_option_is_no_choice(reply: str, text: str) -> None:
    resolved = resolve(reply, thread(*WHICH_ONE))
    assert (resolved.text, resolved.choice) == (text, None)


def test_a_title_with_a_colon_and_a_question_word_can_be_chosen() -> None:
    answer = "Several lessons match. Which one do you mean?\n\n- Chapter 1: How to start [1]\n- Chapter 2: Gazebo [2]"
    assert resolve("chapter 1: how to start", thread("How do I run it?", answer)).choice == "Chapter 1: How to start"


def test_the_options_of_a_question_back_are_no_topic() -> None:
    assert searched("How do I run it?", *WHICH_ONE) == "How do I run it?"


def test_a_new_question_after_a_question_back_stands_alone() -> None:
    assert searched("What is a launch file?", *WHICH_ONE) == "What is a launch file?"


def test_the_name_an_answer_gave_is_carried_after_what_was_asked() -> None:
    assert searched("how do I install it?", *SIMULATOR) == "how do I install it? (simulator, Gazebo)"


@pytest.mark.parametrize("question", ["and how do I create one?", "how do I install it?", "Why?"])
def test_the_thing_that_was_defined_is_carried_without_the_names_in_its_definition(question: str) -> None:
    said = ("What is a node?", "A node is a program in the ROS graph. ROS starts it, and ROS stops it [1].")
    assert searched(question, *said) == f"{question} (node)"


def test_a_refusal_gives_no_topic_but_the_question_does() -> None:
    refusal = "I couldn't find that information in the book. The book covers “Sensors” in “Isaac Sim” [1]."
    assert searched("tell me more", "What is quantum gravity?", refusal) == "tell me more (quantum gravity)"


def test_thanks_and_greetings_do_not_end_a_topic() -> None:
    said = ("What is SLAM?", "It builds a map [1].", "Thanks!", "I answer questions about “Physical AI”.")
    assert searched("how does it work?", *said) == "how does it work? (SLAM)"


def test_a_greeting_is_no_topic() -> None:
    said = ("hello", "I answer questions about “Physical AI”. What would you like to know?")
    assert searched("tell me more", *said) == "tell me more"


def test_a_topic_lives_through_follow_ups() -> None:
    said = (*NODE, "how do I create one?", "Call create_node [1].", "And in C++?", "Use rclcpp [1].")
    assert searched("How do I stop it?", *said) == "How do I stop it? (C++, ROS 2 node)"


def test_a_new_topic_ends_the_old_one() -> None:
    said = (*NODE, "What is a quaternion?", "Four numbers for a rotation [1].")
    assert searched("how do I normalise one?", *said) == "how do I normalise one? (quaternion)"


def test_an_answer_that_was_cut_off_must_say_a_name_twice() -> None:
    asked, answer = thread("Which simulator is used?", "You start with Gazebo")
    assert "Gazebo" in resolve("how do I install it?", [asked, answer]).text
    cut = replace(answer, complete=False)
    assert "Gazebo" not in resolve("how do I install it?", [asked, cut]).text
    twice = replace(cut, content="You start with Gazebo, because Gazebo")
    assert "Gazebo" in resolve("how do I install it?", [asked, twice]).text


def test_code_and_citations_of_an_answer_are_no_names() -> None:
    answer = "Write this [1]:\n```python\nclass Talker(Node): pass\n```"
    assert searched("how do I run it?", "How do I write a talker?", answer) == "how do I run it? (talker)"


def test_what_the_question_says_itself_is_not_said_again() -> None:
    said = ("How do I calibrate a stereo camera in Isaac Sim?", "Use a checkerboard [1].")
    assert searched("which board does the stereo camera need for it?", *said).endswith("it? (calibrate, Isaac Sim)")


@pytest.mark.parametrize("question", ["how does it work?", "what about Gazebo?", "and in Python?", "it " * 95])
def test_what_is_searched_for_stays_short_however_long_the_thread_is(question: str) -> None:
    asked = "What is " + ", ".join(f"hyperdimensional-{'x' * 40}-planning-{number}" for number in range(12)) + "?"
    resolved = resolve(question, thread(*(asked, "It plans [1].") * 10))
    assert resolved.is_followup
    assert len(resolved.text) <= RESOLVED_MAX


def test_a_long_question_says_enough_by_itself() -> None:
    question = "it " * 200
    assert searched(question, *NODE) == question


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "hey there",
        "good morning",
        "thanks",
        "Thank you so much! 👍",
        "thanks, that was very helpful",
        "ok great",
        "OK",
        "got it, thanks",
        "bye",
        "See you later!",
        "who are you?",
        "What can you do?",
        "How are you?",
        "no thanks",
    ],
)
def test_courtesy_is_small_talk_and_never_a_follow_up(text: str) -> None:
    assert is_small_talk(text)
    assert searched(text, *NODE) == text


@pytest.mark.parametrize(
    "text",
    [
        "hello world program in Rust?",
        "hello world",
        "hey, what is a node?",
        "thanks, and in Python?",
        "Great, how do I stop it?",
        "ok, why?",
        "yes",
        "go on",
        "who are the authors?",
        "what are topics?",
        "How are you supposed to calibrate a lidar?",
        "",
        "???",
    ],
)
def test_a_question_with_courtesy_in_it_is_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)
