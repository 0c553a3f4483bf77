"""A section can be read whole, however it was cut into chunks."""

from bookwise.ingestion.chunk import ChunkOptions
from bookwise.retrieval.sections import section_text
from tests.support.builders import chunks_of, lesson, section

SENTENCES = [f"Sentence number {number} says something about dough and water." for number in range(60)]
BODY = " ".join(SENTENCES)


def test_the_chunks_of_a_section_join_to_its_text_without_repeats() -> None:
    chunks = chunks_of(
        lesson(section("Flour", "Flour is milled from grain."), section("Dough", BODY), section("Oven", "It is hot.")),
        options=ChunkOptions(target=100, limit=150),
    )
    dough = [chunk for chunk in chunks if chunk.locator.section_title == "Dough"]
    assert len(dough) > 2
    for chunk in dough:
        text = section_text(chunk, chunks)
        assert [text.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)
        assert "milled" not in text
        assert "hot" not in text


def test_a_section_of_one_chunk_is_that_chunk() -> None:
    chunks = chunks_of(lesson(section("A", "First thing here."), section("B", "Second thing here.")))
    assert section_text(chunks[0], chunks) == chunks[0].text


def test_a_chunk_whose_lesson_is_gone_stands_alone() -> None:
    (chunk,) = chunks_of(lesson(section("A", "First thing here.")))
    assert section_text(chunk, ()) == chunk.text
