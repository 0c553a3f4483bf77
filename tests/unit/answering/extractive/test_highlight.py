"""The sentences that answer are highlighted in what an answer shows."""

import pytest

from bookwise.answering.extractive.highlight import INTRODUCED_MAX, find_highlights
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights
from tests.support.answers import passage


def highlighted(question: str, text: str) -> list[str]:
    asked = classify_question(question)
    weights = question_weights(asked, [passage(1, text=text)])
    return [text[highlight.start : highlight.end] for highlight in find_highlights(text, asked, weights)]


def test_the_sentence_that_answers_is_highlighted_and_the_others_are_not() -> None:
    text = "Bread needs time. Salt slows the yeast down. Bake it hot. [1]"
    assert highlighted("What slows yeast down?", text) == ["Salt slows the yeast down."]


def test_a_definition_goes_before_a_sentence_with_the_same_words() -> None:
    text = "Every robot runs a node. A **node** is a participant in the graph. Stop the node with Ctrl-C. [1]"
    assert highlighted("What is a node?", text) == ["A **node** is a participant in the graph."]


def test_a_definition_may_have_a_part_of_the_name() -> None:
    text = "A **node** is a participant in the graph. ROS 2 does not stop two nodes with one name. [1]"
    assert highlighted("What is a ROS 2 node?", text)[0] == "A **node** is a participant in the graph."


def test_a_sentence_about_something_else_defines_nothing_that_is_asked() -> None:
    text = "A node list is long. A ROS 2 system runs the node. [1]"
    assert highlighted("What is a ROS 2 node?", text) == ["A ROS 2 system runs the node."]


def test_a_sentence_that_is_about_as_good_is_highlighted_too() -> None:
    text = "Steam makes the crust shiny. Bake it hot. Steam makes the crust crisp. [1]"
    assert highlighted("What does steam do to the crust?", text) == [
        "Steam makes the crust shiny.",
        "Steam makes the crust crisp.",
    ]


def test_at_most_two_sentences_are_highlighted_of_equal_ones_the_first() -> None:
    text = " ".join(f"Steam makes crust number {number} crisp." for number in range(1, 6))
    assert highlighted("What does steam do to crust?", text) == [
        f"Steam makes crust number {number} crisp." for number in (1, 2)
    ]


def test_nothing_is_highlighted_in_a_text_that_holds_nothing_of_the_question() -> None:
    assert highlighted("Who won the football world cup?", "Bread needs time. Salt slows the yeast down. [1]") == []


def test_nothing_is_highlighted_for_one_word_of_many() -> None:
    text = "Bread needs time. Salt slows the yeast down."
    assert highlighted("Does rye bread stale faster than wheat rolls in summer kitchens?", text) == []


def test_an_item_is_highlighted_without_its_marker() -> None:
    text = "**Talking**\n\n1. Mix flour and water.\n2. Salt slows the yeast\n   down.\n3. Bake it. [1]"
    assert highlighted("What slows yeast down?", text) == ["Salt slows the yeast\n   down."]


def test_of_a_table_the_row_is_highlighted_from_its_first_cell_to_its_last() -> None:
    text = "| Dough | Minutes |\n|---|---|\n| Wheat | 10 |\n| Rye | 2 |\n\n[1]"
    assert highlighted("How many minutes is rye dough kneaded?", text) == ["Rye | 2"]


def test_the_code_that_a_highlighted_sentence_introduces_is_highlighted_line_by_line() -> None:
    text = (
        "Install the packages with `apt`:\n\n```bash\nsudo apt update\n\n  sudo apt install ros\n```\n\nThen rest. [1]"
    )
    assert highlighted("How do I install the packages?", text) == [
        "Install the packages with `apt`:",
        "sudo apt update",
        "sudo apt install ros",
    ]


def test_so_is_a_short_list() -> None:
    text = "To check the installation, do this: [1]\n\n1. Open a terminal.\n2. Run `ros2 doctor`.\n\nThen rest."
    assert highlighted("How do I check the installation?", text) == [
        "To check the installation, do this:",
        "Open a terminal.",
        "Run `ros2 doctor`.",
    ]


def test_steps_go_before_a_sentence_with_more_of_the_question() -> None:
    text = "A workspace needs no file of its own. Make the directory and build it:\n\n```\nmkdir src\nbuild\n```\n\n[1]"
    steps = ["Make the directory and build it:", "mkdir src", "build"]
    assert highlighted("How do I create a workspace?", text) == steps
    assert highlighted("Why is there a workspace?", text) == ["A workspace needs no file of its own."]


def test_a_list_is_not_ahead_of_a_sentence_where_both_can_answer() -> None:
    text = "Rye is darker. Then do this:\n\n- Mix.\n- Bake.\n\n[1]"
    assert highlighted("What is the difference between rye and wheat?", text) == ["Rye is darker."]


@pytest.mark.parametrize(("count", "expected"), [(INTRODUCED_MAX, INTRODUCED_MAX + 1), (INTRODUCED_MAX + 1, 1)])
def test_a_long_list_speaks_for_itself(count: int, expected: int) -> None:
    items = "\n".join(f"- Turn screw {number}." for number in range(count))
    assert len(highlighted("How do I check the installation?", f"Check the installation so:\n\n{items}")) == expected


def test_code_without_a_highlighted_sentence_stays_plain() -> None:
    text = "Do this:\n\n```bash\ninstall packages\n```\n\nInstall the packages first. [1]"
    assert highlighted("How do I install the packages?", text) == ["Install the packages first."]


def test_where_a_number_is_asked_for_a_sentence_with_one_is_better() -> None:
    text = "Knead rye dough gently. Knead rye dough for 2 minutes. [1]"
    assert highlighted("How long do I knead rye dough?", text) == ["Knead rye dough for 2 minutes."]


def test_a_title_is_no_sentence() -> None:
    text = "**What slows yeast down**\n\nSalt slows the yeast down. [1]"
    assert highlighted("What slows yeast down?", text) == ["Salt slows the yeast down."]
