"""What the text of the passages says about whether they answer moves the strength of the match."""

from dataclasses import replace

import pytest

from bookwise.answering.evidence.answerability import (
    CLOSENESS_CEILING,
    DENIED_CEILING,
    DOUBTFUL_BELOW,
    DOUBTFUL_FROM,
    FADING,
    FAR_CEILING,
    LEAST_CEILING,
    MISSING_CEILING,
    SENTENCE_CHARACTERS,
    USUAL_CLOSENESS,
    USUAL_SENTENCE,
    AnswerSignals,
    answerability,
    ceiling,
    doubt,
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


def passages_of(*texts: str) -> list[Passage]:
    return [passage(number, 0.9, text=text) for number, text in enumerate(texts, 1)]


def judged(strength: float, **signals: object) -> float:
    """The strength after reading; `signals` overrides the usual ones."""
    return answerability(strength, replace(USUAL, **signals))  # type: ignore[arg-type]


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.6, 1.2])
def test_usual_signals_leave_the_strength_as_it_is(strength: float) -> None:
    assert judged(strength) == pytest.approx(strength)


def test_a_sentence_that_fits_better_strengthens_and_one_that_fits_worse_weakens() -> None:
    assert judged(0.6, fit=USUAL_SENTENCE + 0.2) > 0.6
    assert judged(0.6, fit=USUAL_SENTENCE - 0.2) < 0.6


def test_a_sentence_that_is_closer_in_meaning_strengthens_and_a_far_one_takes_nothing() -> None:
    closer, close = (judged(0.6, closeness=USUAL_CLOSENESS + extra) for extra in (0.4, 0.2))
    assert closer > close > 0.6
    assert judged(0.6, closeness=0.0) == judged(0.6, closeness=None) == 0.6


def test_only_matches_between_hopeless_and_sure_are_doubtful() -> None:
    assert [is_doubtful(strength) for strength in (0.29, 0.3, 0.6, 1.24, 1.25)] == [False, True, True, True, False]


def limit(closeness: float | None, **signals: object) -> float:
    """The highest similarity; `signals` overrides the usual ones."""
    return ceiling(replace(USUAL, closeness=closeness, **signals))  # type: ignore[arg-type]


def test_the_closer_the_sentence_the_higher_the_ceiling() -> None:
    limits = [limit(step / 10) for step in range(11)]
    assert limits == sorted(limits)
    assert limits[0] < MEDIUM < limits[5] < HIGH < limits[10]


def test_a_match_without_a_measured_closeness_has_no_ceiling() -> None:
    assert limit(None) == 1.0


@pytest.mark.parametrize("closeness", [0.0, 0.2, 0.9])
def test_the_ceiling_has_no_step_where_a_match_stops_being_doubtful(closeness: float) -> None:
    strengths = [DOUBTFUL_BELOW - step / 1000 for step in range(400)]
    limits = [limit(closeness, doubt=doubt(strength)) for strength in strengths]
    assert limits == sorted(limits, reverse=True)
    assert max(a - b for a, b in zip([1.0, *limits], limits, strict=False)) < 0.006
    assert limits[-1] == limit(closeness), "far below, the closeness counts fully"


@pytest.mark.parametrize("signals", [{"names": False}, {"denied": True}])
def test_a_missing_name_or_denial_lowers_the_ceiling(signals: dict[str, object]) -> None:
    assert limit(0.8, **signals) < limit(0.8)
    assert limit(None, **signals) < HIGH


def test_a_ceiling_lowers_the_confidence_but_refuses_nothing() -> None:
    lowest = limit(-1.0, names=False, denied=True)
    assert level_of(lowest, 5) == "low"


def test_the_values_are_those_of_the_decision_record() -> None:
    """docs/decisions/0007; change both together, after `python -m benchmarks.answers`."""
    assert (DOUBTFUL_FROM, DOUBTFUL_BELOW, FADING) == (0.3, 1.25, 0.1)
    assert (FAR_CEILING, CLOSENESS_CEILING, MISSING_CEILING, DENIED_CEILING, LEAST_CEILING) == (
        0.6,
        0.36,
        0.2,
        0.3,
        0.61,
    )


@pytest.mark.parametrize(
    ("signals", "change"),
    [
        ({"fit": 0.65}, 0.0),
        ({"fit": 1.65}, 0.28),
        ({"closeness": 0.39}, 0.0),
        ({"closeness": 0.89}, 0.3),
        ({"names": True}, 0.05),
        ({"names": False}, -0.2),
        ({"denied": True}, -0.4),
        ({"unknown": True}, -0.12),
    ],
)
def test_each_signal_moves_the_strength_by_its_own_weight(signals: dict[str, object], change: float) -> None:
    assert judged(1.0, **signals) - 1.0 == pytest.approx(change)


def test_the_names_of_the_question_strengthen_where_they_occur_and_weaken_where_they_are_missing() -> None:
    assert judged(0.6, names=True) > 0.6
    assert judged(0.6, names=False) < 0.6


def test_a_denial_that_the_text_does_not_share_weakens() -> None:
    assert judged(0.6, denied=True) < 0.6


def test_a_word_the_book_does_not_know_weakens() -> None:
    assert judged(0.6, unknown=True) < 0.6


def test_the_signals_are_read_from_the_best_sentence() -> None:
    signals = read_signals("What is a node?", passages_of("Bread is baked.", "A node is a participant in the graph."))
    assert signals.sentence == "A node is a participant in the graph."


def test_a_very_long_sentence_is_cut() -> None:
    long = f"A node is {'very ' * 200}small."
    assert read_signals("What is a node?", passages_of(long)).sentence == long[:SENTENCE_CHARACTERS]


def test_a_better_sentence_has_the_better_fit() -> None:
    good = read_signals("How hot is the oven for bread?", passages_of("The oven for bread is 250 degrees hot."))
    poor = read_signals("How hot is the oven for bread?", passages_of("Flour comes from the mill."))
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
    assert read_signals(question, passages_of(text)).names is found


def test_all_names_must_stand_in_one_passage() -> None:
    texts = ("Zenoh replaces the middleware.", "Gazebo simulates.")
    assert read_signals("Does Zenoh work with Gazebo?", passages_of(*texts)).names is False
    assert read_signals("Does Zenoh work with Gazebo?", passages_of(" ".join(texts))).names is True


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
    assert read_signals(question, passages_of(text)).denied is denied


def test_the_order_of_the_passages_is_left_untouched() -> None:
    passages = passages_of("Bread is baked.", "A node is a participant.", "Zenoh replaces DDS.")
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
