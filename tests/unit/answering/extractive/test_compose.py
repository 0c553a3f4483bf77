"""The units of a quoted answer: which are selected, what belongs to them, and their order."""

import pytest

from bookwise.answering.extractive.compose import CODE_LINES_MAX, RUN_MAX, SENTENCES_MAX, SelectedUnit, compose
from bookwise.answering.relevance.question_type import classify_question
from bookwise.domain.answers import Passage
from tests.support.answers import passage

WORKSPACE = """## Terms

A **workspace** is a directory with a subdirectory `src`. Building creates three more directories: `build`, `install`
and `log`. All three can be deleted at any time.
"""
CREATE = """## Create a workspace

Make the directories and create a first package in the workspace:

```bash
mkdir -p ~/ws/src && cd ~/ws/src
ros2 pkg create heartbeat
```

The result has a `package.xml`.
"""
BREAD = """# Bread

Sourdough is bread raised by wild yeast. It tastes sour. Bakers keep a starter for it.

To bake sourdough, follow these steps:

1. Mix flour and water.
2. Fold the dough.
3. Bake it hot.

Let the loaf cool.
"""
TALKING = """## When to choose what

A topic carries a stream of messages. A service answers one request. Actions take longer.

| | Topic | Service |
|---|---|---|
| Pattern | stream | request |
| Answer | none | one |
"""


def pick(question: str, *texts: str | Passage) -> list[SelectedUnit]:
    passages = [
        text if isinstance(text, Passage) else passage(number, 0.9, text=text) for number, text in enumerate(texts, 1)
    ]
    return compose(classify_question(question), passages)


def texts_of(question: str, *texts: str | Passage) -> list[str]:
    return [part.context.unit.text for part in pick(question, *texts)]


def kinds(question: str, *texts: str | Passage) -> list[str]:
    return [part.context.unit.kind for part in pick(question, *texts)]


@pytest.mark.parametrize(
    ("question", "text", "first"),
    [
        ("What is sourdough?", BREAD, "Sourdough is bread raised by wild yeast."),
        ("What is a workspace?", WORKSPACE, "A **workspace** is a directory with a subdirectory `src`."),
        (
            "What is a node?",
            "Start the node with care. Every node has a name. A node is a participant in the graph.",
            "A node is a participant in the graph.",
        ),
        (
            "What does URDF stand for?",
            "Load the URDF first. URDF stands for Unified Robot Description Format.",
            "URDF stands for Unified Robot Description Format.",
        ),
        (
            "Explain ownership",
            "We met ownership before. Ownership is a set of rules for memory. Ask about ownership.",
            "Ownership is a set of rules for memory.",
        ),
    ],
)
def test_a_definition_holds_the_sentence_that_defines(question: str, text: str, first: str) -> None:
    assert first in texts_of(question, text)


def test_the_defining_passage_comes_first_wherever_it_was_found() -> None:
    other = "Nodes are started with care. The node says hello."
    assert texts_of("What is a node?", other, "A node is a participant in the graph.")[0].startswith("A node is")


@pytest.mark.parametrize("question", ["What is a ROS 2 node?", "What is a node in ROS 2?", "What are ROS 2 nodes?"])
def test_a_thing_is_defined_although_the_question_also_names_where_it_belongs(question: str) -> None:
    other = "ROS 2 does not keep two ROS 2 nodes from having the same name."
    assert texts_of(question, other, "A node is a participant in the graph.")[0].startswith("A node is")


def test_a_procedure_leads_with_the_passage_that_has_the_commands() -> None:
    parts = pick("How do I create a workspace?", WORKSPACE, CREATE)
    assert parts[0].context.unit.text.startswith("Make the directories")
    assert parts[1].context.unit.kind == "code"
    assert {part.passage.number for part in parts[:2]} == {2}


def test_a_command_is_preferred_to_a_description_of_it() -> None:
    description = "Building the workspace creates more directories. You create one workspace for each robot."
    code = "## Create a workspace\n\n```bash\nmkdir -p ~/ws/src\n```\n"
    assert kinds("How do I create a workspace?", description, code)[0] == "code"


def test_the_lead_in_of_a_command_is_preferred_to_sentences_with_the_same_words() -> None:
    talk = [
        f"They create a robot workspace for {reason}." for reason in ("speed", "safety and tests", "fun on Mondays")
    ]
    steps = "So we create a robot workspace:\n\n```bash\nmkdir -p ~/ws/src\n```\n"
    assert "code" in kinds("How do I create a robot workspace?", *talk, steps)


def test_steps_come_before_a_better_sentence_of_another_passage() -> None:
    warning = "Never build a colcon workspace twice in the same colcon workspace terminal."
    steps = "Call it in the root of the workspace:\n\n```bash\ncolcon build\n```\n"
    parts = pick("How do I build a colcon workspace in the same terminal?", warning, steps)
    assert [part.passage.number for part in parts] == [2, 2, 1]


def test_a_command_comes_with_the_sentence_before_it() -> None:
    text = "You start the talker like this.\n\n```bash\nros2 run demo talker\n```\n\nWait."
    assert kinds("How do I run the demo talker?", text)[:2] == ["sentence", "code"]


def test_steps_come_as_a_whole_in_order_below_their_lead() -> None:
    assert texts_of("How do I fold the dough of a sourdough?", BREAD)[:4] == [
        "To bake sourdough, follow these steps:",
        "1. Mix flour and water.",
        "2. Fold the dough.",
        "3. Bake it hot.",
    ]


def test_a_later_step_comes_with_the_commands_before_it() -> None:
    text = (
        "Add the repository:\n\n```bash\nadd-apt-repository universe\n```\n\nIt takes a while.\n\n"
        "Finally, install ROS 2 and its tools:\n\n```bash\napt install ros\n```\n"
    )
    assert kinds("How do I install ROS 2?", text) == ["sentence", "code", "sentence", "code"]
    assert texts_of("How do I install ROS 2?", text)[0] == "Add the repository:"


def test_code_answers_only_where_something_is_to_be_done() -> None:
    assert "code" not in kinds("What is a heartbeat package?", CREATE)
    assert "code" in kinds("How do I create a heartbeat package?", CREATE)


def test_very_long_code_is_left_out() -> None:
    code = "```bash\n" + "ros2 run demo talker\n" * (CODE_LINES_MAX + 1) + "```"
    assert "code" not in kinds("How do I run the demo talker?", f"Run the demo talker with care:\n\n{code}")


def test_a_comparison_shows_the_table_that_has_both_sides() -> None:
    assert "table" in kinds("What is the difference between a topic and a service?", TALKING)


def test_a_comparison_without_a_table_speaks_of_both_sides() -> None:
    text = " ".join(
        texts_of("How does butter differ from oil?", "Butter sets when cold. Oil stays liquid. Salt is white.")
    )
    assert "Butter" in text
    assert "Oil" in text


def test_a_list_comes_whole_with_its_lead_even_without_a_colon() -> None:
    text = "The robot has three sensors.\n\n- a camera\n- a lidar sensor\n- an IMU\n\nAll cost money."
    assert texts_of("Which are the sensors of the robot?", text)[:4] == [
        "The robot has three sensors.",
        "- a camera",
        "- a lidar sensor",
        "- an IMU",
    ]


def test_a_long_list_is_cut() -> None:
    text = "The sensors are:\n\n" + "\n".join(f"- sensor {number}" for number in range(40))
    assert kinds("What are the sensors?", text).count("item") == RUN_MAX


def test_a_heading_parts_a_list_from_the_sentence_above_it() -> None:
    text = "The weather is fine.\n\n## Sensors\n\n- a camera sensor\n- a lidar sensor"
    assert kinds("What are the sensors?", text) == ["item", "item"]


def test_a_fact_needs_one_item_not_the_whole_list() -> None:
    text = "You need:\n\n- Flour is bought at the mill.\n- Salt is bought by the sea.\n- Water comes from the tap."
    assert texts_of("Where is salt bought?", text) == ["- Salt is bought by the sea."]


def test_an_item_that_is_no_sentence_keeps_its_lead() -> None:
    text = "The least memory for Isaac Sim is:\n\n- 32 GB of memory\n- a camera"
    assert texts_of("How much memory is needed?", text) == ["The least memory for Isaac Sim is:", "- 32 GB of memory"]


def test_a_fact_is_found_by_the_number_it_wants() -> None:
    text = "The dough rests long. Resting the dough takes 12 hours. Dough is soft."
    assert "Resting the dough takes 12 hours." in texts_of("How long does the dough rest?", text)


def test_a_reason_is_found_by_its_words() -> None:
    text = "Bread is old. The crust cracks because steam is missing. Eat it warm."
    assert texts_of("Why does the crust crack?", text)[0] == "The crust cracks because steam is missing."


def test_a_table_is_judged_by_its_best_row() -> None:
    rows = "\n".join(f"| word{number} | crust oven |" for number in range(3))
    table = f"| Thing | Note |\n|---|---|\n| steam | pale |\n| loaf | soft |\n| crack | wide |\n{rows}"
    sentence = "Without steam the loaf cracks."
    assert texts_of("Does the loaf crack without steam?", f"{table}\n\n{sentence}")[0] == sentence


@pytest.mark.parametrize("pronoun", ["It", "They", "This", "These", "However, it", "For this reason it", "**It**"])
def test_a_sentence_that_refers_back_comes_with_the_sentence_before_it(pronoun: str) -> None:
    text = f"Zenoh is a protocol of its own. {pronoun} replaces the middleware completely. Nothing else is here."
    assert texts_of("What replaces the middleware completely?", text)[:2] == [
        "Zenoh is a protocol of its own.",
        f"{pronoun} replaces the middleware completely.",
    ]


def test_this_book_does_not_refer_back() -> None:
    text = "The weather is fine. This book uses the Jazzy distribution."
    assert texts_of("Which distribution does the book use?", text)[0] == "This book uses the Jazzy distribution."


def test_a_formula_belongs_to_the_sentence_that_announces_it_and_to_the_one_that_explains_it() -> None:
    text = (
        "The tilt grows with the time constant\n\n$$\n\\tau = \\sqrt{h/g}\n$$\n\nwhere $h$ is the height. Stand still."
    )
    whole = ["The tilt grows with the time constant", "$$\n\\tau = \\sqrt{h/g}\n$$"]
    assert texts_of("With what time constant does the tilt grow?", text)[:2] == whole
    assert texts_of("What is the height?", text)[:3] == [*whole, "where $h$ is the height."]


def test_what_two_passages_say_in_the_same_words_is_said_once() -> None:
    text = "A node is a participant in the graph."
    assert texts_of("What is a node?", text, text, f"{text} Nodes have names.").count(text) == 1


@pytest.mark.parametrize(
    "question", ["What is sourdough?", "Why does sourdough taste sour?", "Does sourdough have a starter?"]
)
def test_an_answer_has_at_most_three_sentences_besides_its_blocks(question: str) -> None:
    texts = [f"Sourdough number {n} tastes sour for reason {n * 7}. It has starter {n * 11}." for n in range(1, 9)]
    assert 0 < kinds(question, BREAD, *texts).count("sentence") <= SENTENCES_MAX


def test_a_second_list_or_code_comes_only_from_the_same_passage() -> None:
    one = "Create a package with the tool:\n\n```bash\nros2 pkg create demo\n```\n"
    other = "Create a package by hand:\n\n```bash\nmkdir package && touch package.xml\n```\n"
    assert kinds("How do I create a package?", one, other).count("code") == 1
    assert kinds("How do I create a package?", f"{one}\n{other}").count("code") == 2


def test_the_title_of_a_note_answers_nothing() -> None:
    text = "Danger: hot oven\n\nThe hot oven burns skin."
    assert texts_of("Why is the oven hot?", text)[0] == "The hot oven burns skin."


def test_without_units_there_is_no_answer() -> None:
    assert compose(classify_question("What is a node?"), []) == []
    assert compose(classify_question("What is a node?"), [passage(1, text="## Only a heading")]) == []


def test_one_passage_without_a_matching_word_still_gives_something() -> None:
    assert len(pick("What is a node?", "Bread is baked.")) == 1


def test_passages_without_any_score_are_still_read() -> None:
    parts = compose(classify_question("What is a node?"), [passage(1, 0.0, text="A node is small.")])
    assert [part.context.unit.text for part in parts] == ["A node is small."]
