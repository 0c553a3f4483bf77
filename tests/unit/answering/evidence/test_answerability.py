"""What the text of the passages says about whether they answer moves the strength of the match."""

from dataclasses import replace

import pytest

from bookwise.answering.evidence.answerability import (
    SENTENCE_CHARACTERS,
    SURE,
    USUAL_CLOSENESS,
    USUAL_SENTENCE,
    AnswerSignals,
    add_closeness,
    answerability,
    ceiling,
    is_doubtful,
    question_names,
    question_terms,
    read_signals,
)
from bookwise.answering.evidence.confidence import RULES, level_of
from bookwise.domain.answers import Passage
from tests.support.answers import passage

HIGH, MEDIUM, _ = (average for _, average, _ in RULES)
USUAL = AnswerSignals(sentence="A node is small.", fit=USUAL_SENTENCE, names=None, denied=False, unknown=False)


def given(*texts: str) -> list[Passage]:
    return [passage(number, 0.9, text=text) for number, text in enumerate(texts, 1)]


def judged(strength: float, **signs: object) -> float:
    """The strength after reading; `signs` overrides the usual ones."""
    return answerability(strength, replace(USUAL, **signs))  # type: ignore[arg-type]


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.6, 1.2])
def test_usual_signs_leave_the_strength_as_it_is(strength: float) -> None:
    assert judged(strength) == pytest.approx(strength)


def test_a_sentence_that_fits_better_strengthens_and_one_that_fits_worse_weakens() -> None:
    assert judged(0.6, fit=USUAL_SENTENCE + 0.2) > 0.6
    assert judged(0.6, fit=USUAL_SENTENCE - 0.2) < 0.6


def test_a_sentence_that_is_closer_in_meaning_strengthens_and_a_far_one_takes_nothing() -> None:
    assert add_closeness(0.6, USUAL_CLOSENESS + 0.4) > add_closeness(0.6, USUAL_CLOSENESS + 0.2) > 0.6
    assert add_closeness(0.6, 0.0) == 0.6


def test_neither_a_sure_nor_a_hopeless_match_gets_a_second_look() -> None:
    assert is_doubtful(0.6)
    assert not is_doubtful(SURE)
    assert not is_doubtful(0.1)


def limited(closeness: float | None, **signs: object) -> float:
    """The most a similarity may be; `signs` overrides the usual ones."""
    return ceiling(replace(USUAL, **signs), closeness)  # type: ignore[arg-type]


def test_the_closer_the_sentence_the_surer_one_may_be() -> None:
    limits = [limited(step / 10) for step in range(11)]
    assert limits == sorted(limits)
    assert limits[0] < MEDIUM < limits[5] < HIGH < limits[10]


def test_nothing_limits_a_match_that_was_not_looked_at_twice() -> None:
    assert limited(None) == 1.0


@pytest.mark.parametrize("signs", [{"names": False}, {"denied": True}])
def test_one_is_less_sure_of_a_passage_without_the_name_or_the_denial(signs: dict[str, object]) -> None:
    assert limited(0.8, **signs) < limited(0.8)
    assert limited(None, **signs) < HIGH


def test_a_limit_makes_unsure_but_refuses_nothing() -> None:
    lowest = limited(-1.0, names=False, denied=True)
    assert level_of(lowest, 5) == "low"


def test_the_names_of_the_question_strengthen_where_they_occur_and_weaken_where_they_are_missing() -> None:
    assert judged(0.6, names=True) > 0.6
    assert judged(0.6, names=False) < 0.6


def test_a_denial_that_the_text_does_not_share_weakens() -> None:
    assert judged(0.6, denied=True) < 0.6


def test_a_word_the_book_does_not_know_weakens() -> None:
    assert judged(0.6, unknown=True) < 0.6


def test_the_signs_are_read_from_the_best_sentence() -> None:
    signs = read_signals("What is a node?", given("Bread is baked.", "A node is a participant in the graph."))
    assert signs.sentence == "A node is a participant in the graph."


def test_a_very_long_sentence_is_cut() -> None:
    long = f"A node is {'very ' * 200}small."
    assert read_signals("What is a node?", given(long)).sentence == long[:SENTENCE_CHARACTERS]


def test_a_better_sentence_has_the_better_fit() -> None:
    good = read_signals("How hot is the oven for bread?", given("The oven for bread is 250 degrees hot."))
    poor = read_signals("How hot is the oven for bread?", given("Flour comes from the mill."))
    assert good.fit > poor.fit


def test_without_passages_nothing_is_said_for_or_against() -> None:
    assert answerability(0.6, read_signals("What is a node?", [])) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("What does Zenoh replace?", "Zenoh replaces DDS.", True),
        ("What does Zenoh replace?", "Bread is baked.", False),
        ("What does it replace?", "Zenoh replaces DDS.", None),
        ("What is tier 2?", "Tier 2 is a workstation.", True),
        ("What is tier 2?", "Tier 1 is a laptop.", False),
        ("What does use_sim_time do?", "Set `use_sim_time` to true.", True),
    ],
)
def test_the_names_of_a_question_are_looked_for(question: str, text: str, *, found: bool | None) -> None:
    assert read_signals(question, given(text)).names is found


def test_all_names_must_stand_in_one_passage() -> None:
    texts = ("Zenoh replaces the middleware.", "Gazebo simulates.")
    assert read_signals("Does Zenoh work with Gazebo?", given(*texts)).names is False
    assert read_signals("Does Zenoh work with Gazebo?", given(" ".join(texts))).names is True


@pytest.mark.parametrize(
    ("question", "text", "denied"),
    [
        ("Which GPU is not supported?", "The RTX 4090 GPU is supported.", True),
        ("Which GPU is not supported?", "The A100 GPU is not supported.", False),
        ("Which GPU is supported?", "The RTX 4090 GPU is supported.", False),
        ("Why is the GPU not supported?", "The GPU is supported.", False),
        ("What doesn't Gazebo simulate?", "Gazebo simulates water.", True),
    ],
)
def test_a_question_for_what_is_not_wants_a_sentence_that_says_not(question: str, text: str, *, denied: bool) -> None:
    assert read_signals(question, given(text)).denied is denied


def test_the_order_of_the_passages_is_left_untouched() -> None:
    passages = given("Bread is baked.", "A node is a participant.", "Zenoh replaces DDS.")
    before = list(passages)
    read_signals("What is a node?", passages)
    assert passages == before


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is a node?", set()),
        ("Where did Ada live?", {"ada"}),
        ("Ada lived where?", set()),
        ("Which ROS 2 release?", {"ros", "2"}),
        ("where does cuVSLAM keep its map", {"cu", "vslam"}),
        ("OpenVLA runs where?", {"open", "vla"}),
        ("what is setup.bash for", {"setup", "bash"}),
        ("what does use_sim_time do", {"sim", "tim"}),
    ],
)
def test_names_are_capitals_within_the_question_numbers_and_identifiers(question: str, found: set[str]) -> None:
    assert question_names(question) == found


def test_the_terms_are_the_words_that_carry_meaning_each_once_as_they_were_typed() -> None:
    assert question_terms("What is a Node, and does the Node publish?") == ["Node", "publish"]
    assert question_terms("what's that?") == []
    assert question_terms("the node's topic") == ["node", "topic"]
