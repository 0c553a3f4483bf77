"""What a search promises, on a real index and a real database."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bookwise.domain.errors import EmbedderMismatch, InvalidInput, NotFound
from bookwise.domain.search import Filter, SearchQuery
from bookwise.retrieval import read
from bookwise.schemas.search import SearchResponse
from bookwise.wiring import App
from tests.support.apps import found, hashing_app, ingested, write_book

pytestmark = pytest.mark.anyio

TOPICS = "# Topics\n\nA topic carries messages from many publishers to many subscribers without waiting.\n"
SERVICES = "# Services\n\nA service answers one request with exactly one response, and the caller waits.\n"
LICENCE = "\n## Licence\n\nThis lesson may be copied and changed under the terms of the common licence.\n"


def long_lesson(parts: int) -> str:
    return "# Long\n\n" + "\n\n".join(f"## Part {n}\n\nPart number {n} speaks of gear {n}." for n in range(parts))


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with hashing_app(tmp_path / "data") as opened:
        yield opened


async def test_the_lesson_that_says_it_comes_first(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "b", {"topics.md": TOPICS, "services.md": SERVICES}))
    result = await found(app, "one request with one response")
    assert result.hits[0].chunk.locator.source_file == "services.md"


async def test_a_section_is_found_by_the_words_of_its_titles_and_those_count_more_than_words_of_the_text(
    app: App, tmp_path: Path
) -> None:
    book = {
        "gripper.md": "# Gripper\n\nIt holds a box.\n\n## Wear\n\nThe rubber lasts for about one year of work.\n",
        "rubber.md": "# Rubber\n\nIt is soft.\n\n## Uses\n\nThe gripper lasts for about one year of work.\n",
    }
    await ingested(app, write_book(tmp_path / "b", book))
    lexical = {hit.chunk.locator.heading_path[-1:]: hit.lexical for hit in (await found(app, "gripper")).hits}
    assert lexical[("Wear",)] > lexical[("Uses",)] > 0, "only the page title of Wear has the word"


async def test_hits_are_ordered_by_score_and_carry_both_scores_and_timings(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "b", {"topics.md": TOPICS, "services.md": SERVICES}))
    result = await found(app, "publishers and subscribers of a topic")
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= hit.score <= 1 and -1 <= hit.cosine <= 1 for hit in result.hits)
    assert result.timings.total_ms >= result.timings.embed_ms > 0
    response = SearchResponse.of(result)
    assert response.total_found == len(response.results) == len(result.hits) == result.candidates == 2
    assert response.book_id == "book"


async def test_the_same_text_is_found_once(app: App, tmp_path: Path) -> None:
    book = {"topics.md": TOPICS + LICENCE, "services.md": SERVICES + LICENCE}
    await ingested(app, write_book(tmp_path / "b", book))
    result = await found(app, "copied and changed under the common licence")
    hashes = [hit.chunk.content_hash for hit in result.hits]
    assert len(hashes) == len(set(hashes)) == 3


async def test_another_book_is_never_found(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "a", {"topics.md": TOPICS}), book_id="book")
    await ingested(app, write_book(tmp_path / "b", {"services.md": SERVICES}), book_id="other")
    result = await found(app, "one request with one response")
    assert {hit.chunk.locator.book_id for hit in result.hits} == {"book"}


async def test_a_deleted_lesson_is_gone_at_once(app: App, tmp_path: Path) -> None:
    root = write_book(tmp_path / "b", {"topics.md": TOPICS, "services.md": SERVICES})
    await ingested(app, root)
    (root / "services.md").unlink()
    job = await ingested(app, root)
    assert job.files_withdrawn == 1
    assert {h.chunk.locator.source_file for h in (await found(app, "request response")).hits} == {"topics.md"}


async def test_a_renamed_lesson_is_found_under_its_new_name_only(app: App, tmp_path: Path) -> None:
    root = write_book(tmp_path / "b", {"topics.md": TOPICS, "services.md": SERVICES})
    await ingested(app, root)
    (root / "services.md").rename(root / "calls.md")
    await ingested(app, root)
    files = {hit.chunk.locator.source_file for hit in (await found(app, "request response")).hits}
    assert files == {"topics.md", "calls.md"}


async def test_an_edited_lesson_answers_with_its_new_text_only(app: App, tmp_path: Path) -> None:
    root = write_book(tmp_path / "b", {"services.md": SERVICES})
    await ingested(app, root)
    write_book(root, {"services.md": SERVICES.replace("exactly one response", "a stream of answers")})
    await ingested(app, root)
    texts = [hit.chunk.text for hit in (await found(app, "one request with one response")).hits]
    assert len(texts) == 1
    assert "stream of answers" in texts[0]


async def test_stale_chunks_in_the_index_are_never_shown_and_take_no_places(app: App, tmp_path: Path) -> None:
    """A broken job may leave more stale chunks than a search asks for at first."""
    root = write_book(tmp_path / "b", {"long.md": long_lesson(80), "services.md": SERVICES})
    await ingested(app, root)
    await app.catalog.withdraw("book", ["long.md"])
    result = await found(app, "Part number speaks of gear")
    assert [hit.chunk.locator.source_file for hit in result.hits] == ["services.md"]


async def test_a_question_needs_three_characters_and_a_sane_limit() -> None:
    with pytest.raises(InvalidInput, match="3 characters"):
        SearchQuery(text=" a ", filter=Filter(book_id="book"))
    with pytest.raises(InvalidInput, match="between 1 and 100"):
        SearchQuery(text="topics", filter=Filter(book_id="book"), limit=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"book_id": ""}, "exactly one book"),
        ({"hardware_tier": 5}, "hardware_tier is 5; allowed: 1, 2, 3, 4"),
        ({"hardware_tier": 0}, "hardware_tier"),
        ({"layer": "L5"}, "layer is 'L5'"),
        ({"proficiency_levels": ("A3",)}, "A1, A2, B1, B2, C1, C2"),
        ({"chapter_min": -1}, "chapter_min is -1"),
        ({"chapter_min": 5, "chapter_max": 4}, "greater than"),
    ],
)
def test_a_filter_that_exists_is_valid(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Filter(**{"book_id": "book", **wrong})  # type: ignore[arg-type]


async def test_a_book_that_is_not_there_is_named(app: App) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        await found(app, "anything", book_id="nowhere")


async def test_another_embedder_is_refused_by_name(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "b", {"topics.md": TOPICS}))
    book = await app.catalog.book("book")
    await app.catalog.register(replace(book, embedder="other:1", embedder_name="other", embedder_size=1536))
    with pytest.raises(EmbedderMismatch, match=r"other \(1536 dimensions.*64 dimensions"):
        await found(app, "anything")


async def test_a_whole_lesson_is_read_in_order(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "b", {"long.md": long_lesson(30)}))
    (record,) = await app.catalog.records("book")
    chunks = await read.lesson("book", record.lesson_id, index=app.index, catalog=app.catalog)
    assert [chunk.id for chunk in chunks] == list(record.chunk_ids)
    with pytest.raises(NotFound):
        await read.lesson("book", "no-such-id", index=app.index, catalog=app.catalog)


@pytest.mark.parametrize(
    ("position", "before", "after", "expected"),
    [(5, 2, 1, [3, 4, 5, 6]), (0, 3, 1, [0, 1]), (9, 1, 5, [8, 9]), (4, 0, 0, [4])],
)
async def test_context_follows_the_chain_and_stops_at_the_ends(
    app: App, tmp_path: Path, position: int, before: int, after: int, expected: list[int]
) -> None:
    await ingested(app, write_book(tmp_path / "b", {"long.md": long_lesson(10)}))
    (record,) = await app.catalog.records("book")
    around = await read.context(
        "book", record.chunk_ids[position], before=before, after=after, index=app.index, catalog=app.catalog
    )
    assert [c.index for c in (*around.before, around.chunk, *around.after)] == expected


async def test_context_of_a_removed_chunk_says_so(app: App, tmp_path: Path) -> None:
    await ingested(app, write_book(tmp_path / "b", {"topics.md": TOPICS}))
    (record,) = await app.catalog.records("book")
    await app.catalog.withdraw("book", ["topics.md"])
    with pytest.raises(NotFound, match="no chunk"):
        await read.context(None, record.chunk_ids[0], before=1, after=1, index=app.index, catalog=app.catalog)
