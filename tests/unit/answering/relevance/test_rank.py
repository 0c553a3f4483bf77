"""The units of passages are ranked by how well they answer; each weight decides between units that are else equal."""

import pytest

from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.rank import RankedUnit, rank_units, unit_contexts
from bookwise.domain.answers import Passage
from tests.support.answers import passage


def passages_of(*texts: str | Passage) -> list[Passage]:
    """Passages of equal strength, unless a passage is given."""
    return [
        text if isinstance(text, Passage) else passage(number, 0.9, text=text) for number, text in enumerate(texts, 1)
    ]


def matches(question: str, *texts: str | Passage) -> list[str]:
    """The units in the order of the decision."""
    return [ranked.unit.text for ranked in rank_units(classify_question(question), passages_of(*texts))]


def scores(question: str, *texts: str | Passage) -> list[float]:
    """The scores in the order of the passages."""
    ranking = rank_units(classify_question(question), passages_of(*texts))
    return [ranked.score for ranked in sorted(ranking, key=lambda ranked: (ranked.passage.number, ranked.index))]


def test_equal_units_keep_the_order_of_the_book() -> None:
    assert matches("Does the valve open?", "The valve opens.", "Valves open.") == ["The valve opens.", "Valves open."]


def test_a_unit_with_more_terms_of_the_question_ranks_higher() -> None:
    assert matches("Does the red valve open?", "The valve opens.", "The red valve opens.")[0] == "The red valve opens."


def test_a_rare_term_counts_more_than_a_common_one() -> None:
    texts = ("A valve closes.", "The valve is old.", "Valves need care.", "The crust opens.")
    assert matches("Does the valve open?", *texts)[0] == "The crust opens."


def test_a_unit_of_a_stronger_passage_ranks_higher() -> None:  # PASSAGE_WEIGHT
    weak, strong = passage(1, 0.5, text="The valve opens wide."), passage(2, 0.9, text="The valve opens fast.")
    assert matches("Does the valve open?", weak, strong) == ["The valve opens fast.", "The valve opens wide."]


def test_a_strong_passage_does_not_outweigh_the_terms_of_the_question() -> None:
    weak, strong = passage(1, 0.5, text="The valve opens."), passage(2, 0.9, text="Bread is baked.")
    assert matches("Does the valve open?", weak, strong)[0] == "The valve opens."


def test_the_strength_of_the_match_counts_before_the_similarity() -> None:
    similar, strong = passage(1, 0.9, text="The valve opens wide."), passage(2, 0.9, text="The valve opens fast.")
    similar, strong = (
        Passage(number=p.number, chunk=p.chunk, score=p.score, strength=s) for p, s in ((similar, 0.4), (strong, 0.8))
    )
    assert matches("Does the valve open?", similar, strong)[0] == "The valve opens fast."


def test_neighbouring_terms_rank_higher_than_scattered_ones() -> None:  # PAIR_WEIGHT
    scattered, together = "In an emergency you cut power and stop.", "The emergency stop will cut power."
    assert matches("Does the emergency stop cut power?", scattered, together)[0] == together


@pytest.mark.parametrize(
    ("question", "plain", "with_value"),
    [
        ("How many eggs are in the dough?", "Eggs go into dough.", "Into dough go 3 eggs."),
        ("How many eggs are in the dough?", "Eggs go into dough.", "Into dough go three eggs."),
        ("When was the compiler released?", "The compiler was released.", "The compiler was released in 2015."),
        ("Who wrote the compiler?", "They wrote the compiler.", "Later Ada wrote the compiler."),
        ("Where is the map stored?", "The map is stored.", "The map is stored in `/tmp`."),
    ],
)
def test_a_question_for_a_value_prefers_a_unit_that_has_one(  # VALUE_WEIGHT
    question: str, plain: str, with_value: str
) -> None:
    assert matches(question, plain, with_value)[0] == with_value


def test_a_question_without_a_value_ignores_numbers() -> None:
    assert matches("Does the dough need eggs?", "Dough needs eggs.", "Dough needs 3 eggs.")[0] == "Dough needs eggs."


def test_a_term_in_the_heading_counts() -> None:  # NEAR_WEIGHT
    other, right = "## Garden\n\nWarm air rises slowly.", "## Oven\n\nWarm air falls slowly."
    assert matches("Is the oven warm?", other, right)[0] == "Warm air falls slowly."


def test_a_term_in_the_sentence_before_counts() -> None:  # NEAR_WEIGHT
    other, right = "Look at the garden. Warm air rises.", "Look at the oven. Warm air falls."
    ranking = matches("Is the oven warm?", other, right)
    assert ranking.index("Warm air falls.") < ranking.index("Warm air rises.")


def test_a_term_in_the_unit_counts_more_than_one_nearby() -> None:
    nearby, inside = "## Oven\n\nWarm air rises.", "Warm oven air falls."
    assert matches("Is the oven warm?", nearby, inside)[0] == inside


def test_a_definition_ranks_higher_than_other_sentences_with_the_term() -> None:  # DEFINITION_WEIGHT
    assert matches("What is a node?", "Start the node.", "A node is a participant.")[0] == "A node is a participant."
    assert matches("Does a node run?", "Start the node.", "A node is a participant.")[0] == "Start the node."


def test_a_definition_names_its_subject_before_the_verb() -> None:
    assert matches("What is a node?", "A graph is made of each node.", "A node is a participant.")[0].startswith(
        "A node"
    )


def test_a_full_match_scores_one_without_any_bonus() -> None:
    """The scale on which the weights are added; the passage adds its share to every unit."""
    full, none = scores("Does the valve leak?", "Valves leak.", "Bread is baked.")
    assert full - none == pytest.approx(1.0 + 0.15)  # the pair "valve leak" adds its weight
    assert none == pytest.approx(0.35)  # the weight of the strongest passage


def test_headings_are_context_and_not_ranked() -> None:
    ranking: list[RankedUnit] = rank_units(classify_question("What is an oven?"), passages_of("## Oven\n\nIt is hot."))
    assert [(ranked.unit.text, ranked.index) for ranked in ranking] == [("It is hot.", 1)]


def test_without_passages_there_is_nothing_to_rank() -> None:
    assert rank_units(classify_question("What is an oven?"), []) == []


def test_a_context_has_the_terms_of_the_unit_and_of_what_is_near() -> None:
    first, second = unit_contexts(passage(text="## Oven\n\nBread rises. Crust cracks."))
    assert {"bread", "ris"} <= first.terms
    assert "oven" in first.near_terms
    assert first.terms <= second.near_terms
