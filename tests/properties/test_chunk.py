"""Laws of the chunker, and every invariant of the data model's formal verification."""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bookwise.domain.books import Block, Chunk, Lesson, Section
from bookwise.ingestion.chunk import ChunkOptions
from bookwise.schemas.books import DocumentChunk
from bookwise.text.sentences import sentences, split_sentences
from tests.support.builders import chunks_of, lesson, section


def sentence(seed: tuple[int, int]) -> str:
    start, length = seed
    letters = ["".join(chr(97 + int(d)) for d in str(start + n)) for n in range(length)]
    return " ".join(letters).capitalize() + "."


SENTENCE = st.tuples(st.integers(0, 9_999), st.integers(1, 25)).map(sentence)
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=12).map(" ".join).map(lambda t: Block(kind="text", text=t))
ITEMS = st.lists(SENTENCE, min_size=1, max_size=8)
LIST = ITEMS.map(lambda items: Block(kind="list", text="\n".join(f"- {item}" for item in items)))
CODE = st.lists(SENTENCE, min_size=1, max_size=20).map(
    lambda lines: Block(kind="code", text="```\n" + "\n".join(lines) + "\n```")
)
BODY = st.lists(st.one_of(PARAGRAPH, LIST, CODE), max_size=3)
SECTIONS = st.lists(st.tuples(SENTENCE, BODY).map(lambda s: section(s[0], *s[1])), min_size=1, max_size=4)
LESSONS = SECTIONS.map(lambda sections: lesson(*sections))
SMALL = ChunkOptions(target=60, limit=90, small=9)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def joined(sections: tuple[Section, ...]) -> list[str]:
    return [word for s in sections for block in s.blocks for word in words(block.text)]


def is_in_order(needle: list[str], hay: list[str]) -> bool:
    """Whether `needle` can be read off `hay` from left to right, skipping repeats."""
    rest = iter(hay)
    return all(word in rest for word in needle)


@given(st.text(alphabet="Ab1.!? `\n()*e.g", max_size=200))
def test_sentences_joined_are_the_text(text: str) -> None:
    assert "".join(split_sentences(text)) == text


@given(st.lists(SENTENCE, min_size=1, max_size=12).map(" ".join))
def test_chunks_and_answers_see_the_same_sentences(paragraph: str) -> None:
    assert [sentence.strip() for sentence in split_sentences(paragraph)] == sentences(paragraph)


@given(LESSONS)
def test_nothing_is_lost_and_the_order_stays(made: Lesson) -> None:
    chunks = chunks_of(made, options=SMALL)
    assume(chunks or sum(len(block.text) for s in made.sections for block in s.blocks) >= 10)
    assert is_in_order(joined(made.sections), [word for c in chunks for word in words(c.text)])


@given(LESSONS)
def test_every_chunk_is_within_size(made: Lesson) -> None:
    for c in chunks_of(made, options=SMALL):
        assert len(c.text) >= 10
        assert c.token_count <= SMALL.limit + SMALL.target, c.text


@given(LESSONS)
def test_chunking_is_deterministic(made: Lesson) -> None:
    assert chunks_of(made, options=SMALL) == chunks_of(made, options=SMALL)


@given(LESSONS)
@settings(max_examples=60)
def test_every_chunk_satisfies_the_public_schema(made: Lesson) -> None:
    for c in chunks_of(made, options=SMALL):
        assert DocumentChunk.of(c).text == c.text


@given(st.lists(LESSONS, min_size=1, max_size=3))
@settings(max_examples=60)
def test_invariants_of_the_formal_verification(lessons: list[Lesson]) -> None:
    for made in lessons:
        chunks = chunks_of(made, options=SMALL)
        assert_chain(chunks)
        assert len({c.lesson_id for c in chunks}) <= 1
        assert len({c.id for c in chunks}) == len(chunks)


def assert_chain(chunks: tuple[Chunk, ...]) -> None:
    for position, c in enumerate(chunks):
        assert c.index == position < c.total == len(chunks)
        assert c.prev_id == (chunks[position - 1].id if position else None)
        assert c.next_id == (chunks[position + 1].id if position + 1 < len(chunks) else None)
        assert c.lesson_id
    by_id = {c.id: c for c in chunks}
    for start in chunks:  # no cycles: following next never comes back
        seen, here = set(), start
        while here.next_id is not None:
            assert here.id not in seen
            seen.add(here.id)
            here = by_id[here.next_id]
