"""Sections are ranked by what they say, one entry each."""

from dataclasses import replace

from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import (
    RankedSection,
    contenders,
    is_furniture,
    question_weights,
    rank_sections,
    rerank_sections,
)
from bookwise.domain.answers import Passage
from tests.support.answers import passage


def of_section(number: int, title: str, text: str, *, strength: float = 1.0, lexical: float = 0.0) -> Passage:
    found = passage(number, 0.9, text=text, section_title=title, heading_path=(title,), anchor=title.lower())
    return replace(found, strength=strength, lexical=lexical)


def ranked(question: str, *passages: Passage) -> list[RankedSection]:
    kind = classify_question(question)
    return rank_sections(kind, passages, question_weights(kind, passages))


def order(question: str, *passages: Passage) -> list[int]:
    return [section.passage.number for section in ranked(question, *passages)]


def test_the_stronger_match_is_first_when_the_words_tell_nothing() -> None:
    weak, strong = of_section(1, "A", "Nothing here.", strength=0.8), of_section(2, "B", "Or here.", strength=0.9)
    assert order("How is bread baked?", weak, strong) == [2, 1]


def test_one_sentence_that_holds_the_question_outweighs_a_slightly_stronger_match() -> None:
    near = of_section(1, "Loaves", "Bread is old. The oven is hot. Loaves are baked by hand.", strength=1.0)
    says = of_section(2, "Loaves too", "The oven holds baked goods, also bread.", strength=0.95)
    assert order("Is bread baked in the oven?", near, says) == [2, 1]


def test_a_section_that_holds_more_of_the_question_in_several_sentences_comes_first() -> None:
    less = of_section(1, "A", "Bread is baked. Dough is old. Milk is white.", strength=1.0)
    more = of_section(2, "B", "Bread is baked. Salt is old. Yeast is white.", strength=0.99)
    assert order("Is bread baked with salt, yeast?", less, more) == [2, 1]


def test_words_of_the_question_in_the_heading_count() -> None:
    plain = of_section(1, "Notes", "It takes an hour.", strength=1.0)
    titled = of_section(2, "Baking bread", "It takes an hour.", strength=0.96)
    assert order("How long does baking bread take?", plain, titled) == [2, 1]


def test_a_heading_that_says_write_is_how_to_create_something() -> None:
    other = of_section(1, "Create a package", "Run the command for the node.", strength=1.0)
    titled = of_section(2, "Write a node", "Run the command for the node.", strength=0.95)
    assert order("How do I create a node?", other, titled) == [2, 1]


def test_a_heading_with_the_opposite_action_comes_after_a_weaker_match() -> None:
    removes = of_section(1, "Remove Gazebo", "Run apt for the installed packages.", strength=1.0)
    installs = of_section(2, "Gazebo packages", "Run apt for the installed packages.", strength=0.8)
    assert order("How do I install Gazebo?", removes, installs) == [2, 1]
    assert order("How do I remove Gazebo?", removes, installs) == [1, 2]
    assert order("What is Gazebo?", removes, installs) == [1, 2]
    both = of_section(3, "Remove and install Gazebo", "Run apt for the installed packages.", strength=1.0)
    assert order("How do I install Gazebo?", both, installs) == [3, 2]


def test_words_of_the_question_in_the_title_of_the_lesson_count() -> None:
    other = of_section(1, "A", "It takes an hour.", strength=1.0)
    titled = replace(
        other,
        number=2,
        chunk=replace(other.chunk, locator=replace(other.chunk.locator, page_title="Baking bread", anchor="b")),
    )
    assert order("How long does baking bread take?", other, replace(titled, strength=0.9)) == [2, 1]


def test_words_that_are_neighbours_in_question_and_section_count() -> None:
    apart = of_section(1, "A", "The dough rests. Rye is dark.", strength=1.0)
    together = of_section(2, "B", "The rye dough rests. It is dark.", strength=0.99)
    assert order("Is rye dough dark?", apart, together) == [2, 1]


def test_a_section_with_the_kind_of_block_that_is_asked_for_comes_first() -> None:
    prose = of_section(1, "A", "Bread is baked in the oven.", strength=1.0)
    steps = of_section(2, "B", "Bread is baked in the oven.\n\n1. Knead.\n2. Bake.", strength=0.9)
    assert order("How do I bake bread in the oven?", prose, steps) == [2, 1]
    assert order("Who bakes bread in the oven?", prose, steps) == [1, 2]


def test_a_second_passage_of_the_same_section_speaks_for_it() -> None:
    alone = of_section(1, "A", "Nothing here.", strength=0.95)
    first, second = (of_section(n, "B", "Nothing here.", strength=0.9) for n in (2, 3))
    assert order("How is bread baked?", alone, first) == [1, 2]
    assert order("How is bread baked?", alone, first, second) == [2, 1]


def test_shared_words_count_beyond_the_match_strength() -> None:
    one = of_section(1, "A", "It rests.", strength=1.0, lexical=0.1)
    other = of_section(2, "B", "It rests.", strength=0.95, lexical=0.5)
    assert order("Where does it rest?", one, other) == [2, 1]


def test_two_passages_of_one_section_are_one_entry_with_the_better_one() -> None:
    first, second = (of_section(n, "Oven", "The oven is hot.", strength=s) for n, s in ((1, 0.8), (2, 0.9)))
    assert order("Is the oven hot?", first, second) == [2]


def test_a_quiz_comes_after_a_lesson_that_is_a_little_weaker_unless_it_is_asked_for() -> None:
    quiz = of_section(1, "Quiz", "Some bread is baked.", strength=1.0)
    lesson = of_section(2, "Loaves", "Some bread is baked.", strength=0.6)
    assert order("Which bread is baked?", quiz, lesson) == [2, 1]
    assert order("Show me the quiz about bread", quiz, lesson) == [1, 2]


def test_a_section_of_questions_is_a_quiz_whatever_its_heading() -> None:
    questions = of_section(1, "Loaves", "Which bread is baked? Who baked it?", strength=1.0)
    lesson = of_section(2, "More loaves", "Some bread is baked. He baked it.", strength=0.6)
    assert order("Which bread is baked?", questions, lesson) == [2, 1]


def test_furniture_is_known_by_its_heading() -> None:
    assert is_furniture("Learning Objectives")
    assert not is_furniture("Objects and classes")


def test_rare_words_weigh_more_and_all_weights_sum_to_one() -> None:
    texts = ("Bread is baked. Bread rises. Bread cools. Yeast works.",)
    weights = question_weights(
        classify_question("Does bread need yeast?"), [passage(1, 0.9, text=text) for text in texts]
    )
    assert weights["yeast"] > weights["bread"]
    assert abs(sum(weights.values()) - 1) < 1e-9


def test_the_sentences_decide_between_sections_that_are_near_each_other() -> None:
    passages = [of_section(n, f"S{n}", "Nothing here.", strength=s) for n, s in ((1, 1.0), (2, 0.95), (3, 0.5))]
    sections = ranked("How is bread baked?", *passages)
    near = contenders(sections)
    assert [section.passage.number for section in near] == [1, 2]
    assert [s.passage.number for s in rerank_sections(sections, [0.2, 0.6])] == [2, 1, 3]
    assert [s.passage.number for s in rerank_sections(sections, [0.5, 0.6])] == [1, 2, 3]


def test_a_section_that_is_ahead_needs_no_second_look() -> None:
    passages = [of_section(n, f"S{n}", "Nothing here.", strength=s) for n, s in ((1, 1.0), (2, 0.5))]
    assert contenders(ranked("How is bread baked?", *passages)) == []
    assert contenders(()) == []


def test_where_no_embedder_was_asked_the_order_stays() -> None:
    passages = [of_section(n, f"S{n}", "Nothing here.", strength=s) for n, s in ((1, 1.0), (2, 0.95))]
    sections = ranked("How is bread baked?", *passages)
    assert rerank_sections(sections, []) == sections


def test_a_section_brings_the_sentence_that_holds_most_of_the_question() -> None:
    found = of_section(1, "Oven", "Ovens are hot. Bread is baked in the oven. Loaves cool.")
    assert ranked("How is bread baked?", found)[0].sentence == "Bread is baked in the oven."
