"""What a chunk is: by section, within size, never through code, with ids that last."""

import itertools
import time
import uuid
from dataclasses import replace

import pytest

from bookwise.domain.books import Block, LessonPosition
from bookwise.ingestion.chunk import ChunkOptions, tokens_in
from tests.support.builders import chunks_of, lesson, lesson_file, section

SEED_NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def prose(sentences: int, word: str = "robot") -> str:
    return " ".join(f"Sentence number {n} tells what the {word} does next." for n in range(sentences))


def test_each_section_gives_separate_chunks() -> None:
    made = chunks_of(lesson(section("Topics", prose(5)), section("Services", prose(5))))
    assert [c.locator.section_title for c in made] == ["Topics", "Services"]


def test_a_chunk_links_to_the_heading_of_the_published_page() -> None:
    file = lesson_file(url="https://book.example/loops")
    (made,) = chunks_of(lesson(section("While loops", prose(3)), file=file))
    assert made.locator.url == "https://book.example/loops#while-loops"


def test_a_long_section_is_cut_near_the_target_and_overlaps_by_sentences() -> None:
    made = chunks_of(lesson(section("Topics", prose(120))))
    assert len(made) > 2
    assert all(c.token_count <= 460 for c in made)
    for before, after in itertools.pairwise(made):
        tail = before.text[-200:]
        shared = [s for s in after.text.split(". ")[:8] if s in tail]
        assert shared, "two chunks of one section share a sentence"


def test_sections_do_not_overlap_each_other() -> None:
    first, second = chunks_of(lesson(section("A", prose(4, "arm")), section("B", prose(4, "leg"))))
    assert "arm" not in second.text
    assert "leg" not in first.text


def test_a_code_block_is_never_cut() -> None:
    code = "```python\n" + "\n".join(f"step_{n} = move(arm, {n})" for n in range(60)) + "\n```"
    made = chunks_of(lesson(section("Code", prose(40), Block(kind="code", text=code), prose(40))))
    assert sum(code in c.text for c in made) == 1


def test_a_code_block_beyond_the_limit_is_cut_at_line_ends_and_each_part_has_its_fence() -> None:
    lines = [f"step_{n} = move(arm, {n})" for n in range(400)]
    code = "```python\n" + "\n".join(lines) + "\n```"
    made = chunks_of(lesson(section("Code", Block(kind="code", text=code))))
    assert len(made) > 1
    for c in made[1:]:
        assert c.text.startswith("```python\n")
        assert c.text.endswith("```")
    kept = [line for c in made for line in c.text.splitlines() if line.startswith("step_")]
    assert kept == lines


def test_a_table_beyond_the_limit_repeats_its_head() -> None:
    rows = [f"| sensor {n} | {n} Hz | measures something useful |" for n in range(200)]
    table = "\n".join(["| name | rate | note |", "| --- | --- | --- |", *rows])
    made = chunks_of(lesson(section("Sensors", Block(kind="table", text=table))))
    assert len(made) > 1
    assert all("| name | rate | note |\n| --- | --- | --- |" in c.text for c in made)
    assert [line for c in made for line in c.text.splitlines() if line.startswith("| sensor")] == rows


def test_a_bare_heading_goes_to_the_section_below_it() -> None:
    made = chunks_of(lesson(section("Part one"), section("Topics", prose(3))))
    assert len(made) == 1
    assert made[0].text.startswith("## Part one\n\n## Topics")
    assert made[0].locator.section_title == "Topics"


@pytest.mark.parametrize(("sentences", "chunks"), [(34, 1), (38, 1), (44, 2)])
def test_a_small_rest_joins_the_chunk_before_it(sentences: int, chunks: int) -> None:
    """By default the target is 400 tokens, about 34 of these sentences, and a rest of up to 60 tokens is small."""
    made = chunks_of(lesson(section("Topics", prose(sentences))))
    assert len(made) == chunks
    assert all(c.token_count > 60 for c in made)


def test_the_limit_of_a_small_rest_can_be_changed() -> None:
    topics = lesson(section("Topics", prose(44)))
    assert len(chunks_of(topics, options=ChunkOptions(small=200))) == 1
    assert len(chunks_of(lesson(section("Topics", prose(36))), options=ChunkOptions(small=0))) == 2


def test_a_chunk_ends_where_a_sentence_ends_and_not_after_an_abbreviation() -> None:
    text = " ".join(f"Arm {n} lifts loads, e.g. Boxes of type {n}, up to the shelf." for n in range(80))
    made = chunks_of(lesson(section("Loads", text)))
    assert len(made) > 2
    assert all(c.text.endswith("shelf.") for c in made)


def test_a_paragraph_with_an_odd_backtick_is_cut_in_linear_time() -> None:
    text = "A ` that is never closed. " + "Then come many sentences. " * 40_000
    started = time.thread_time()
    made = chunks_of(lesson(section("Odd", text)))
    assert time.thread_time() - started < 10
    assert sum(c.text.count("sentences.") for c in made) == 40_000


def test_a_text_too_short_to_stand_alone_joins_its_neighbour() -> None:
    made = chunks_of(lesson(section("", "Hi."), section("Topics", prose(3))))
    assert len(made) == 1
    assert made[0].text.startswith("Hi.")


def test_an_empty_lesson_has_no_chunks() -> None:
    assert chunks_of(lesson()) == ()
    assert chunks_of(lesson(section("", "  \n "))) == ()


def test_ids_follow_the_published_formula() -> None:
    file = lesson_file(book_id="b", position=LessonPosition(module="ros2", chapter=3, lesson=2), numbered=True)
    (made,) = chunks_of(lesson(section("Topics", prose(3)), file=file))
    assert made.id == str(uuid.uuid5(SEED_NAMESPACE, f"b:ros2:3:2:{made.content_hash[:16]}"))
    assert made.lesson_id == str(uuid.uuid5(SEED_NAMESPACE, "b:ros2:3:2:parent"))


def test_a_lesson_without_stated_numbers_is_identified_by_its_file() -> None:
    one, two = (chunks_of(lesson(section("T", prose(3)), file=lesson_file(f))) for f in ("a.md", "b.md"))
    assert one[0].id != two[0].id
    assert one[0].lesson_id != two[0].lesson_id


def test_equal_texts_in_one_lesson_get_distinct_stable_ids() -> None:
    twice = lesson(section("T", prose(3)), section("T", prose(3)))
    first, second = chunks_of(twice)
    assert first.text == second.text
    assert first.id != second.id
    assert second.id == str(uuid.uuid5(SEED_NAMESPACE, f"{twice.file.key}:{second.content_hash[:16]}:1"))


def test_the_id_changes_with_the_text_and_only_with_it() -> None:
    before = chunks_of(lesson(section("A", prose(4)), section("B", prose(5))))
    after = chunks_of(lesson(section("A", prose(4)), section("B", prose(6))), revision="r2")
    assert before[0].id == after[0].id
    assert before[1].id != after[1].id


def test_the_title_path_is_embedded_with_the_text() -> None:
    (made,) = chunks_of(lesson(section("While loops", prose(3)), title="Control flow"))
    assert made.embedding_text.startswith("Control flow > While loops\n")


@pytest.mark.parametrize(("words", "tokens"), [(1, 1), (2, 3), (10, 13), (100, 130), (307, 399)])
def test_tokens_are_words_times_one_point_three(words: int, tokens: int) -> None:
    assert tokens_in("word " * words) == tokens


def test_counts_describe_the_text() -> None:
    (made,) = chunks_of(lesson(section("T", prose(3))))
    assert made.word_count == len(made.text.split())
    assert made.char_count == len(made.text)
    assert replace(made).token_count == tokens_in(made.text)
