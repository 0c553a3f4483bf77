"""What the port `LessonIndex` promises, checked for every backend."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bookwise.domain.books import Audience, Chunk
from bookwise.domain.search import Filter
from bookwise.ports import LessonIndex
from tests.support.builders import chunks, embedded
from tests.support.index_backends import BACKENDS, IndexBackend, index_backend

pytestmark = pytest.mark.anyio

Open = Callable[[], Awaitable[LessonIndex]]

EAST, NORTH, BETWEEN = (1.0, 0.0), (0.0, 1.0), (0.6, 0.8)
TEXT = "A topic carries messages from publishers to subscribers."
OTHER = "A service answers one request with one response."


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexBackend]:
    async with index_backend(request.param, tmp_path, size=2) as backend:
        yield backend


@pytest.fixture
async def reopen(backend: IndexBackend) -> AsyncIterator[Open]:
    """A function that opens the index, after closing it if it is open."""
    async with AsyncExitStack() as stack:
        opened = AsyncExitStack()
        stack.push_async_callback(lambda: opened.aclose())

        async def open_again() -> LessonIndex:
            await opened.aclose()
            return await opened.enter_async_context(backend.open())

        yield open_again


@pytest.fixture
async def index(reopen: Open) -> LessonIndex:
    return await reopen()


async def texts(index: LessonIndex, vector: tuple[float, float], words: str = "zzz", **within: object) -> list[str]:
    hits = await index.nearest(vector, words, within=Filter(book_id="book", **within), limit=10)  # type: ignore[arg-type]
    ranked = sorted(hits, key=lambda c: -c.cosine)
    return [c.text.splitlines()[-1] for c in await index.read("book", [c.ref for c in ranked]) if c]


async def test_what_is_staged_is_found_by_meaning_nearest_first(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    assert await texts(index, EAST) == [TEXT, OTHER]
    assert await texts(index, NORTH) == [OTHER, TEXT]


async def test_what_is_staged_is_found_by_its_words(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, EAST))
    hits = await index.nearest(EAST, "which answers a request?", within=Filter(book_id="book"), limit=10)
    best = max(hits, key=lambda c: c.lexical)
    (chunk,) = await index.read("book", [best.ref])
    assert chunk is not None
    assert OTHER in chunk.text
    assert 0 < best.lexical <= 1


async def test_the_best_by_meaning_and_the_best_by_words_each_come_once_with_both_scores(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER, "Unrelated."), EAST, BETWEEN, NORTH))
    hits = await index.nearest(EAST, "request response", within=Filter(book_id="book"), limit=1)
    by_meaning, by_words = sorted(hits, key=lambda hit: -hit.cosine)
    assert by_meaning.cosine == pytest.approx(1.0)
    assert by_meaning.lexical == 0
    assert by_words.cosine == pytest.approx(0.6)
    assert by_words.lexical > 0


async def test_a_chunk_that_is_best_by_meaning_and_by_words_comes_once(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    (hit,) = await index.nearest(BETWEEN, "request response", within=Filter(book_id="book"), limit=1)
    assert hit.cosine == pytest.approx(0.8)
    assert hit.lexical > 0


async def test_lexical_scores_are_absolute(index: LessonIndex) -> None:
    """A question whose words are missing from the book scores low even for its best chunk."""
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))

    async def best(words: str) -> float:
        hits = await index.nearest(EAST, words, within=Filter(book_id="book"), limit=5)
        return max(hit.lexical for hit in hits)

    assert await best("request response") > 2 * await best("request xylophone pancake volcano")
    assert await best("xylophone") == 0


async def test_staging_twice_is_the_same_as_once(index: LessonIndex) -> None:
    staged = embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH)
    await index.stage(staged)
    await index.stage(staged)
    assert await index.revisions("book") == {"r1": 2}
    assert len(await texts(index, EAST)) == 2


async def test_revisions_of_one_lesson_are_stored_separately(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    await index.stage(embedded(chunks("loops", "r2", TEXT), EAST))
    assert await index.revisions("book") == {"r1": 2, "r2": 1}
    shared = chunks("loops", "r1", TEXT)[0]
    assert sorted(c.revision for c in await index.chunk("book", shared.id)) == ["r1", "r2"]


async def test_a_revision_comes_back_as_it_was_staged(index: LessonIndex) -> None:
    """Also one that an engine could read as a UUID or a number."""
    revisions = ("0123456789abcdef0123456789abcdef", "12345678", "v1.0/β")
    for revision in revisions:
        await index.stage(embedded(chunks("loops", revision, TEXT), EAST))
    assert await index.revisions("book") == dict.fromkeys(revisions, 1)
    assert await index.remove("book", revisions[:1]) == 1


async def test_removing_a_revision_leaves_the_others(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    await index.stage(embedded(chunks("loops", "r2", TEXT), EAST))
    assert await index.remove("book", ["r1"]) == 2
    assert await index.revisions("book") == {"r2": 1}
    assert await index.remove("book", ["r1", "never"]) == 0
    assert await index.remove("book", []) == 0


async def test_books_are_separate(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.stage(embedded(chunks("loops", "r1", TEXT, book_id="other"), EAST))
    assert len(await texts(index, EAST)) == 1
    assert await index.remove("other", ["r1"]) == 1
    assert await index.revisions("book") == {"r1": 1}
    ours = chunks("loops", "r1", TEXT)[0]
    assert await index.chunk("other", ours.id) == []
    assert await index.lesson("other", ours.lesson_id) == []


async def test_books_stay_separate_when_another_book_is_added_or_removed(index: LessonIndex) -> None:
    async def hit_count(book_id: str) -> int:
        return len(await index.nearest(EAST, TEXT, within=Filter(book_id=book_id), limit=10))

    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    assert (await hit_count("book"), await hit_count("other")) == (1, 0)
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER, book_id="other"), EAST, NORTH))
    assert (await hit_count("book"), await hit_count("other")) == (1, 2)
    await index.remove("book", ["r1"])
    assert (await hit_count("book"), await hit_count("other")) == (0, 2)
    await index.stage(embedded(chunks("loops", "r2", TEXT), EAST))
    assert (await hit_count("book"), await hit_count("other")) == (1, 2)


@pytest.mark.parametrize("words", ["topic messages", "topic messages of zebras"])
async def test_word_statistics_belong_to_one_book(index: LessonIndex, words: str) -> None:
    """Another book changes neither the weight of the words of this book nor the weight of unknown words."""
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    before = await index.nearest(EAST, words, within=Filter(book_id="book"), limit=5)
    many = chunks("topics", "r9", *(f"topic {n} topic messages topic" for n in range(30)), book_id="other")
    await index.stage(embedded(many, *[EAST] * 30))
    after = await index.nearest(EAST, words, within=Filter(book_id="book"), limit=5)
    assert {c.ref: round(c.lexical, 4) for c in before} == {c.ref: round(c.lexical, 4) for c in after}


@pytest.mark.parametrize("words", ["topic messages", "topic messages of zebras"])
async def test_word_statistics_leave_out_removed_chunks(reopen: Open, words: str) -> None:
    """A word that was common in the old revision and is rare in the new one counts as rare right after a re-ingest."""

    async def scores(index: LessonIndex) -> dict[int, float]:
        hits = await index.nearest(EAST, words, within=Filter(book_id="book"), limit=5)
        return {hit.ref: round(hit.lexical, 4) for hit in hits}

    index = await reopen()
    old = chunks("loops", "r1", *(f"topic {number} carries messages" for number in range(30)))
    await index.stage(embedded(old, *[EAST] * 30))
    await index.stage(embedded(chunks("loops", "r2", TEXT, *[OTHER] * 9), *[EAST] * 10))
    await index.remove("book", ["r1"])
    assert await scores(index) == await scores(await reopen())


async def test_word_statistics_count_a_chunk_once_that_was_staged_again(reopen: Open) -> None:
    async def scores(index: LessonIndex) -> dict[int, float]:
        hits = await index.nearest(EAST, "topic messages of zebras", within=Filter(book_id="book"), limit=5)
        return {hit.ref: round(hit.lexical, 4) for hit in hits}

    index = await reopen()
    topic, *others = embedded(chunks("loops", "r1", "topic messages", *[OTHER] * 9), *[EAST] * 10)
    await index.stage([topic, *others])
    for _ in range(20):
        await index.stage([topic])
    assert await scores(index) == await scores(await reopen())


async def test_a_lesson_comes_back_whole_and_in_order(index: LessonIndex) -> None:
    lesson_chunks = chunks("loops", "r1", *(f"{TEXT} Number {n}." for n in range(30)))
    await index.stage(embedded(tuple(reversed(lesson_chunks)), *[EAST] * 30))
    assert await index.lesson("book", lesson_chunks[0].lesson_id) == [_stored(c) for c in lesson_chunks]


async def test_a_lesson_has_the_chunks_of_every_revision_sorted_by_revision_and_index(index: LessonIndex) -> None:
    new, old = chunks("loops", "r2", TEXT, OTHER), chunks("loops", "r1", OTHER, TEXT)
    await index.stage(embedded(new, EAST, NORTH))
    await index.stage(embedded(old, NORTH, EAST))
    stored = await index.lesson("book", new[0].lesson_id)
    assert [(chunk.revision, chunk.index) for chunk in stored] == [("r1", 0), ("r1", 1), ("r2", 0), ("r2", 1)]


async def test_a_chunk_comes_back_as_it_was(index: LessonIndex) -> None:
    audience = Audience(hardware_tier=3, proficiency_level="C1", layer="L4")
    (chunk,) = chunks("loops", "r1", TEXT, audience=audience)
    await index.stage(embedded((chunk,), EAST))
    assert await index.chunk("book", chunk.id) == [_stored(chunk)]


async def test_reading_what_was_removed_gives_nothing(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    refs = [c.ref for c in await index.nearest(EAST, "zzz", within=Filter(book_id="book"), limit=5)]
    await index.remove("book", ["r1"])
    assert await index.read("book", refs) == [None, None]


async def test_a_reference_is_read_from_its_own_book_only(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.stage(embedded(chunks("nodes", "r1", OTHER, book_id="other"), EAST))
    (hit,) = await index.nearest(EAST, "zzz", within=Filter(book_id="book"), limit=5)
    assert await index.read("other", [hit.ref]) == [None]
    assert await index.read("absent", [hit.ref]) == [None]


async def test_a_check_of_a_working_index_finds_nothing(index: LessonIndex) -> None:
    await index.check()
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.check()


async def test_filters_admit_only_what_they_name(index: LessonIndex) -> None:
    easy, hard = Audience(hardware_tier=1, layer="L1"), Audience(hardware_tier=4, layer="L4")
    await index.stage(embedded(chunks("easy", "r1", TEXT, audience=easy), EAST))
    await index.stage(embedded(chunks("hard", "r2", OTHER, audience=hard), NORTH))
    assert await texts(index, EAST, hardware_tier=3) == [TEXT]
    assert await texts(index, EAST, layer="L4") == [OTHER]
    assert await texts(index, EAST, words="request", layer="L1") == [TEXT]
    assert await texts(index, EAST, proficiency_levels=("C2",)) == []


async def test_vectors_come_back_as_stored(index: LessonIndex) -> None:
    lesson_chunks = chunks("loops", "r1", TEXT, OTHER)
    await index.stage(embedded(lesson_chunks, EAST, BETWEEN))
    ids = [chunk.id for chunk in lesson_chunks]
    vectors = await index.vectors("book", ids)
    assert vectors[ids[0]] == pytest.approx(EAST)
    assert vectors[ids[1]] == pytest.approx(BETWEEN)
    assert await index.vectors("other", ids) == {}
    assert await index.vectors("book", []) == {}


async def test_an_export_has_everything_that_was_staged(index: LessonIndex) -> None:
    audience = Audience(hardware_tier=3, proficiency_level="C1", layer="L4")
    staged = embedded(chunks("loops", "r1", TEXT, OTHER, audience=audience), EAST, BETWEEN)
    await index.stage(staged[::-1])
    await index.stage(embedded(chunks("nodes", "r2", OTHER), NORTH))
    exported = await index.export("book", ["r1"])
    assert [replace(e, vector=()) for e in exported] == [replace(e, chunk=_stored(e.chunk), vector=()) for e in staged]
    assert [e.vector for e in exported] == [pytest.approx(EAST), pytest.approx(BETWEEN)]
    assert [e.chunk.revision for e in await index.export("book", ["r2", "r1"])] == ["r1", "r1", "r2"]


async def test_an_export_has_the_named_revisions_of_one_book_only(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.stage(embedded(chunks("loops", "r1", OTHER, book_id="other"), EAST))
    assert [e.chunk.locator.book_id for e in await index.export("book", ["r1"])] == ["book"]
    assert await index.export("book", []) == []
    assert await index.export("book", ["r9"]) == []


async def test_staging_an_export_again_changes_nothing(index: LessonIndex) -> None:
    """A copy may be repeated: the same chunks take the same places, with the same scores."""
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, BETWEEN))
    search = Filter(book_id="book")
    before = await index.nearest(BETWEEN, "request of publishers", within=search, limit=5)
    await index.stage(await index.export("book", ["r1"]))
    after = await index.nearest(BETWEEN, "request of publishers", within=search, limit=5)
    assert await index.revisions("book") == {"r1": 2}
    assert [(c.ref, pytest.approx(c.cosine, abs=1e-6), pytest.approx(c.lexical, abs=1e-6)) for c in before] == [
        (c.ref, c.cosine, c.lexical) for c in after
    ]


async def test_what_was_staged_is_there_after_reopening(reopen: Open) -> None:
    index = await reopen()
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), EAST, NORTH))
    identity = index.id
    index = await reopen()
    assert index.id == identity
    assert await texts(index, EAST) == [TEXT, OTHER]


async def test_what_was_removed_is_gone_after_reopening(reopen: Open) -> None:
    index = await reopen()
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.stage(embedded(chunks("loops", "r2", OTHER), NORTH))
    await index.remove("book", ["r1"])
    index = await reopen()
    assert await index.revisions("book") == {"r2": 1}
    assert await texts(index, EAST) == [OTHER]


async def test_an_index_rebuilt_from_nothing_has_another_id(reopen: Open, backend: IndexBackend) -> None:
    identity = (await reopen()).id
    await backend.destroy()
    assert (await reopen()).id != identity


async def test_an_empty_index_finds_nothing(index: LessonIndex) -> None:
    assert await texts(index, EAST, words="anything at all") == []
    assert await index.revisions("book") == {}
    await index.stage([])


def _stored(chunk: Chunk) -> Chunk:
    """The chunk as it is read back: without the text it was embedded from."""
    return replace(chunk, embedding_text="")


async def test_words_in_no_chunk_of_the_book_are_unknown_whatever_their_ending(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", "A loop repeats its body until the condition fails."), EAST))
    assert await index.unknown("book", ["Loops", "repeated", "gondola", "conditions"]) == {"gondola"}
    assert await index.unknown("another", ["loops"]) == {"loops"}
    assert await index.unknown("book", []) == frozenset()


async def test_words_of_removed_chunks_are_unknown(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT), EAST))
    await index.stage(embedded(chunks("loops", "r2", OTHER), EAST))
    assert await index.unknown("book", ["publishers", "service"]) == frozenset()
    await index.remove("book", ["r1"])
    assert await index.unknown("book", ["publishers", "service"]) == {"publishers"}


async def test_a_chunk_that_is_not_what_was_stored_is_never_returned(index: LessonIndex) -> None:
    good, bad = chunks("loops", "r1", TEXT, OTHER)
    await index.stage(embedded((good, replace(bad, text="A service answers never.")), EAST, NORTH))
    assert await texts(index, NORTH) == [TEXT]
    assert [chunk.id for chunk in await index.lesson("book", good.lesson_id)] == [good.id]
    assert await index.chunk("book", bad.id) == []
    assert [exported.chunk.id for exported in await index.export("book", ["r1"])] == [good.id]
    assert await index.verify("book") == {"r1": 1}
    assert await index.revisions("book") == {"r1": 2}


async def test_what_is_stored_is_verified_with_its_vectors_and_words(index: LessonIndex) -> None:
    await index.stage(embedded(chunks("loops", "r1", TEXT, OTHER), BETWEEN, NORTH))
    await index.stage(embedded(chunks("loops", "r2", TEXT), EAST))
    assert await index.verify("book") == {"r1": 2, "r2": 1}
    assert await index.verify("other") == {}
