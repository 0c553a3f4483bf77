"""A section can be read whole, however it was cut into chunks."""

from dataclasses import dataclass, replace
from typing import cast

import pytest

from bookwise.domain.books import Chunk
from bookwise.ingestion.chunk import ChunkOptions
from bookwise.ports import LessonIndex
from bookwise.retrieval.sections import NEIGHBOURS_READ, section_text
from tests.support.builders import chunks_of, lesson, section

pytestmark = pytest.mark.anyio

SENTENCES = [f"Sentence number {number} says something about dough and water." for number in range(30)]
BODY = " ".join(SENTENCES)


def dough() -> tuple[Chunk, ...]:
    return chunks_of(
        lesson(section("Flour", "Flour is milled from grain."), section("Dough", BODY), section("Oven", "It is hot.")),
        options=ChunkOptions(target=100, limit=150),
    )


@dataclass
class ChunksById:
    """The one call of an index that a section is read by."""

    chunks: tuple[Chunk, ...]

    async def chunk(self, book_id: str | None, chunk_id: str) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.id == chunk_id]


async def read(chunk: Chunk, *chunks: Chunk) -> str:
    return await section_text(chunk, cast(LessonIndex, ChunksById(chunks)))


async def test_a_section_is_read_whole_and_without_repeats_from_any_of_its_chunks() -> None:
    chunks = dough()
    cut = [chunk for chunk in chunks if chunk.locator.section_title == "Dough"]
    assert len(cut) > 2
    for chunk in cut:
        text = await read(chunk, *chunks)
        assert [text.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)
        assert "milled" not in text
        assert "hot" not in text


async def test_a_section_of_one_chunk_is_that_chunk() -> None:
    chunks = chunks_of(lesson(section("A", "First thing here."), section("B", "Second thing here.")))
    assert await read(chunks[0], *chunks) == chunks[0].text


async def test_another_revision_of_the_lesson_is_never_mixed_in() -> None:
    chunk, following = (c for c in dough() if c.locator.section_title == "Dough" and c.index in (1, 2))
    assert await read(chunk, replace(following, revision="r2")) == chunk.text


async def test_a_chunk_whose_neighbours_are_gone_stands_alone() -> None:
    chunk = dough()[2]
    assert await read(chunk) == chunk.text


async def test_of_a_section_without_end_only_the_part_around_the_chunk_is_read() -> None:
    endless = " ".join(f"Sentence number {number} says something about dough." for number in range(2_000))
    chunks = chunks_of(lesson(section("Dough", endless)), options=ChunkOptions(target=100, limit=150))
    middle = chunks[len(chunks) // 2]
    text = await read(middle, *chunks)
    assert middle.text in text
    assert len(text) < 2 * (2 * NEIGHBOURS_READ + 1) * len(middle.text) < len(endless)
