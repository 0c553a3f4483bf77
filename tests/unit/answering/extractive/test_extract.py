"""What is shown of a section: whole blocks, with what introduces them, in the book's order."""

import pytest

from bookwise.answering.extractive.extract import Budget, Extract, block_groups, extract
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights
from tests.support.answers import passage

FILLER = "Nothing of interest is said in this long paragraph about the weather in spring. " * 4
STEPS = """To bake the loaf:

1. Heat the oven.
2. Put the loaf in.
3. Wait for an hour."""
SECTION = f"## Baking\n\nBread is old.\n\n{FILLER}\n\n{STEPS}\n\n{FILLER}\n\nSteam makes the crust shiny.\n\n{FILLER}"


def extracted(question: str, text: str, *, words: int = 60, whole: int = 80) -> Extract:
    kind = classify_question(question)
    return extract(text, kind, question_weights(kind, [passage(1, 0.9, text=text)]), Budget(words, whole))


def shown(question: str, text: str, *, words: int = 60, whole: int = 80) -> list[str]:
    runs = extracted(question, text, words=words, whole=whole).runs
    return [group.text for run in runs for group in run]


def test_a_short_section_is_shown_whole_without_its_heading() -> None:
    assert shown("Why?", "## Salt\n\nSalt is old.\n\n- Sea salt\n- Rock salt") == [
        "Salt is old.\n\n- Sea salt\n- Rock salt"
    ]


def test_a_list_comes_with_the_sentence_that_introduces_it() -> None:
    assert STEPS in shown("How do I bake the loaf?", SECTION)


def test_the_introduction_found_brings_its_list() -> None:
    assert STEPS in shown("bake loaf", SECTION)


def test_code_is_never_shown_without_the_sentence_before_it() -> None:
    text = f"{FILLER}\n\nRun the oven script.\n\n```sh\nbake --hot\n```\n\n{FILLER}"
    assert "Run the oven script.\n\n```sh\nbake --hot\n```" in shown("How do I run bake --hot?", text)


@pytest.mark.parametrize(
    "orphan", ["Here is the program that we are going to write now:", "src/main.rs", "**Figure 3**"]
)
def test_a_stem_without_its_block_and_a_caption_are_not_shown(orphan: str) -> None:
    groups = block_groups(f"Bread is old.\n\n{orphan}\n\n## Next\n\nMore is said here.")
    assert [group.text for group in groups] == ["Bread is old.", "More is said here."]


def test_a_long_paragraph_that_ends_with_a_colon_says_enough_to_be_shown() -> None:
    text = f"{FILLER.strip()[:-1]}:"
    assert [group.text for group in block_groups(f"{text}\n\n## Next\n\nMore is said.")] == [text, "More is said."]


def test_what_would_be_left_out_is_shown_when_there_is_nothing_else() -> None:
    assert shown("Where is main?", "## Files\n\nsrc/main.rs") == ["src/main.rs"]


def test_the_budget_holds_but_the_best_group_is_always_shown() -> None:
    assert shown("How do I bake the loaf?", SECTION, words=5, whole=5) == [STEPS]
    assert sum(len(text.split()) for text in shown("Does steam make the crust shiny?", SECTION)) <= 60


def test_blocks_stand_in_the_order_of_the_book_and_gaps_part_the_runs() -> None:
    question = "How do I bake the loaf with steam on the crust?"
    found = extracted(question, SECTION, words=30, whole=40)
    texts = [[group.text for group in run] for run in found.runs]
    assert texts == [[STEPS], ["Steam makes the crust shiny."]]


def test_a_question_for_a_list_gets_the_list() -> None:
    prose = "Flours for bread are many, and bread is made of flours in all countries, as bakers know."
    text = f"{FILLER}\n\n{prose}\n\n{FILLER}\n\nThese are milled:\n\n- Wheat flour for bread\n- Rye\n\n{FILLER}"
    assert any("- Rye" in group for group in shown("Which flours are there for bread?", text, words=25, whole=30))


def test_nothing_gives_nothing() -> None:
    assert shown("Why?", "") == []


def test_of_two_equal_groups_the_one_beside_a_good_one_is_shown() -> None:
    alone, beside = "Salt the dough well.", "Salt the dough now."
    text = f"{alone}\n\n{FILLER}\n\n{beside}\n\nSalt is fine.\n\n{FILLER}"
    assert shown("Do I salt the dough?", text, words=4, whole=5) == [beside]


def test_where_steps_are_wanted_code_and_lists_come_before_prose() -> None:
    prose = "You bake a loaf in the oven."
    lead = "You bake a loaf in the oven:"
    code, steps = f"{lead}\n\n```sh\nbake\n```", f"{lead}\n\n1. Wait."
    for block in (code, steps):
        text = f"{prose}\n\n{FILLER}\n\n{block}\n\n{FILLER}"
        assert shown("How do I bake a loaf in the oven?", text, words=5, whole=6) == [block]
        assert shown("Is a loaf baked in the oven?", text, words=5, whole=6) == [prose]


def test_a_group_away_from_the_best_one_that_holds_little_of_the_question_is_left_out() -> None:
    text = f"Rye dough needs salt and warm water.\n\n{FILLER}\n\nWater is wet.\n\n{FILLER}"
    assert shown("Does rye dough need salt and warm water?", text) == ["Rye dough needs salt and warm water."]


def test_of_two_equal_neighbours_the_following_one_is_shown() -> None:
    text = f"{FILLER}\n\nBefore it.\n\nThe oven is hot.\n\nAfter it.\n\n{FILLER}"
    assert shown("Is the oven hot?", text, words=6, whole=7) == ["The oven is hot.", "After it."]
