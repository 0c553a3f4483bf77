"""A filtered search returns exactly what a naive reading of the filter admits."""

from collections.abc import Iterator

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookwise.adapters.qdrant.embedded import EmbeddedIndex
from bookwise.adapters.qdrant.folder import open_folder
from bookwise.domain.books import LAYERS, PROFICIENCY_LEVELS, Audience, Chunk, LessonPosition
from bookwise.domain.search import Filter
from tests.support.builders import chunks_of, embedded, lesson, lesson_file, section

MODULES = ("ros2", "gazebo", "isaac")


def library() -> list[Chunk]:
    """Two books whose lessons cover every value of every filter, in many combinations."""
    made: list[Chunk] = []
    for number in range(60):
        file = lesson_file(
            f"lesson-{number}.md",
            book_id="book" if number % 5 else "other",
            position=LessonPosition(module=MODULES[number % 3], chapter=number % 7, lesson=number % 4),
            audience=Audience(
                hardware_tier=1 + number % 4,
                proficiency_level=PROFICIENCY_LEVELS[number % 6],
                layer=LAYERS[(number // 2) % 4],
            ),
        )
        text = f"Lesson {number} speaks of robots."
        made += chunks_of(lesson(section("A", text), section("B", text), file=file), revision=f"r{number}")
    return made


LIBRARY = library()
LESSON_IDS = [chunk.lesson_id for chunk in LIBRARY]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    opened = EmbeddedIndex(open_folder(tmp_path_factory.mktemp("filters") / "index", 2))
    anyio.run(opened.stage, embedded(tuple(LIBRARY), *[(1.0, 0.0)] * len(LIBRARY)))
    yield opened
    anyio.run(opened.close)


def admits(within: Filter, chunk: Chunk) -> bool:
    """The rule, read aloud: every named condition holds."""
    where, who = chunk.locator, chunk.audience
    return all(
        (
            where.book_id == within.book_id,
            who.hardware_tier <= within.hardware_tier,
            within.module is None or where.module == within.module,
            within.chapter_min is None or where.chapter >= within.chapter_min,
            within.chapter_max is None or where.chapter <= within.chapter_max,
            within.lesson is None or where.lesson == within.lesson,
            not within.proficiency_levels or who.proficiency_level in within.proficiency_levels,
            within.layer is None or who.layer == within.layer,
            within.lesson_id is None or chunk.lesson_id == within.lesson_id,
        )
    )


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    low, high = draw(st.none() | st.integers(0, 6)), draw(st.none() | st.integers(0, 6))
    if low is not None and high is not None and low > high:
        low, high = high, low
    return Filter(
        book_id=draw(st.sampled_from(("book", "other", "absent"))),
        hardware_tier=draw(st.integers(1, 4)),
        module=draw(st.none() | st.sampled_from(MODULES)),
        chapter_min=low,
        chapter_max=high,
        lesson=draw(st.none() | st.integers(0, 4)),
        proficiency_levels=tuple(draw(st.lists(st.sampled_from(PROFICIENCY_LEVELS), max_size=3))),
        layer=draw(st.none() | st.sampled_from(LAYERS)),
        lesson_id=draw(st.none() | st.sampled_from(LESSON_IDS)),
    )


@given(filters())
@settings(max_examples=150)
def test_a_filtered_search_finds_all_and_only_what_the_filter_admits(index: EmbeddedIndex, within: Filter) -> None:
    async def ids() -> set[str]:
        found = await index.nearest((1.0, 0.0), "robots", within=within, limit=len(LIBRARY))
        return {chunk.id for chunk in await index.read(within.book_id, [c.ref for c in found]) if chunk}

    assert anyio.run(ids) == {chunk.id for chunk in LIBRARY if admits(within, chunk)}
