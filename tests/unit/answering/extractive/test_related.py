"""Other sections about the question follow an answer as links."""

from dataclasses import replace

from bookwise.answering.extractive.related import LINE_MAX, RELATED_MAX, related_sections
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights, rank_sections
from bookwise.domain.answers import Passage, RelatedSection
from tests.support.answers import URL, passage

QUESTION = classify_question("How does salt slow yeast?")
SHOWN = passage(1, 0.9, text="Salt slows yeast.", url=f"{URL}/salt")


def in_section(number: int, text: str, *, title: str = "", url: str = "") -> Passage:
    name = title or f"Section {number}"
    found = passage(number, 0.9, text=text, section_title=name, heading_path=(name,), url=url or f"{URL}/{number}")
    locator = replace(found.chunk.locator, url=url or f"{URL}/{number}", source_file=f"{number}.md")
    return replace(found, chunk=replace(found.chunk, locator=locator), strength=1 - number / 10)


def related(*passages: Passage, shown: Passage = SHOWN) -> tuple[RelatedSection, ...]:
    weights = question_weights(QUESTION, [shown, *passages])
    return related_sections(rank_sections(QUESTION, [shown, *passages], weights), [shown], QUESTION, weights)


def test_a_section_that_is_not_shown_follows_with_its_best_sentence() -> None:
    (link,) = related(in_section(2, "Bread needs time. Too much salt stops the yeast. Bake it hot."))
    assert (link.passage.chunk.id, link.line) == ("chunk-2", "Too much salt stops the yeast.")


def test_the_line_is_plain_text_on_one_line() -> None:
    (link,) = related(
        in_section(
            2, "Intro.\n\n- Too much **salt** stops\n  the [yeast](yeast.md) in `my_dough` *at once* if $s > 2$."
        )
    )
    assert link.line == "Too much salt stops the yeast in my_dough at once if s > 2."


def test_a_long_line_is_shortened() -> None:
    (link,) = related(in_section(2, f"Salt slows yeast {'very ' * 40}much."))
    assert link.line.endswith("…")
    assert len(link.line) <= LINE_MAX + 1


def test_at_most_three_follow_the_best_first() -> None:
    links = related(*(in_section(number, "Salt slows yeast.") for number in (5, 3, 2, 4)))
    assert [link.passage.chunk.id for link in links] == ["chunk-2", "chunk-3", "chunk-4"]
    assert len(links) == RELATED_MAX


def test_the_section_that_is_shown_and_a_place_already_named_are_left_out() -> None:
    again = in_section(2, "Salt slows yeast.", url=SHOWN.chunk.locator.url)
    twice = [in_section(number, "Salt slows yeast.", url=f"{URL}/one") for number in (3, 4)]
    assert [link.passage.chunk.id for link in related(again, *twice)] == ["chunk-3"]


def test_a_section_that_says_nothing_about_the_question_and_a_quiz_are_left_out() -> None:
    assert related(in_section(2, "Bread needs time."), in_section(3, "Salt slows yeast?", title="Quiz")) == ()


def test_code_and_tables_give_no_line() -> None:
    assert related(in_section(2, "```\nsalt slow yeast\n```\n\n| salt | slow | yeast |\n|---|---|---|\n")) == ()
