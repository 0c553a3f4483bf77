"""The order of a reranker, on the calibrated scale, and what happens without it."""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bookwise.domain.errors import RerankerUnavailable
from bookwise.domain.search import Filter, SearchQuery, SearchResult
from bookwise.retrieval.search import SearchKit, search
from tests.support.apps import hashing_app, ingested, write_book
from tests.support.small_books import ASKS_TOPIC, LESSONS

pytestmark = pytest.mark.anyio

QUERY = SearchQuery(text=ASKS_TOPIC, filter=Filter(book_id="book"), limit=3)


class ScriptedReranker:
    """Prefers the texts with these words, the first most."""

    name = "The reranker of the test"

    def __init__(self, *words: str, error: Exception | None = None, seconds: float = 0.0) -> None:
        self._words, self._error, self._seconds = words, error, seconds
        self.texts: list[str] = []

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.texts = list(texts)
        await anyio.sleep(self._seconds)
        if self._error is not None:
            raise self._error
        return [next((-float(n) for n, word in enumerate(self._words) if word in text), -99.0) for text in texts]


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[SearchKit]:
    async with hashing_app(tmp_path / "data") as app:
        await ingested(app, write_book(tmp_path / "book", LESSONS))
        yield app.search_kit


def titles(result: SearchResult) -> list[str]:
    return [hit.chunk.locator.page_title for hit in result.hits]


async def test_the_reranker_decides_the_order_and_what_is_shown(kit: SearchKit) -> None:
    reranker = ScriptedReranker("replayed", "computation", "publishers")
    plain = await search(QUERY, kit)
    assert titles(plain)[0] == "Topics"
    result = await search(QUERY, replace(kit, reranker=reranker))
    assert titles(result) == ["Bags", "Nodes", "Topics"], "also lessons that the search itself would not show"
    assert len(reranker.texts) == len(LESSONS)


async def test_the_nth_hit_has_the_nth_highest_similarity(kit: SearchKit) -> None:
    everything = await search(replace(QUERY, limit=6), kit)
    result = await search(replace(QUERY, limit=6), replace(kit, reranker=ScriptedReranker("replayed", "computation")))
    assert titles(result) != titles(everything)
    assert [hit.score for hit in result.hits] == [hit.score for hit in everything.hits]
    assert [hit.strength for hit in result.hits] == sorted((hit.strength for hit in everything.hits), reverse=True)
    own = {hit.chunk.id: hit.cosine for hit in everything.hits}
    assert {hit.chunk.id: hit.cosine for hit in result.hits} == own, "a cosine stays with its chunk"


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (ScriptedReranker(error=RerankerUnavailable("The service returned HTTP 500.")), "returned HTTP 500"),
        (ScriptedReranker("replayed", seconds=30.0), "did not respond within 0.01 s"),
    ],
)
async def test_without_the_reranker_the_search_keeps_its_order_and_says_so(
    kit: SearchKit, reranker: ScriptedReranker, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    plain = await search(QUERY, kit)
    with caplog.at_level(logging.WARNING):
        result = await search(QUERY, replace(kit, reranker=reranker, rerank_seconds=0.01))
    assert result.hits == plain.hits
    [note] = result.notes
    assert reason in note
    assert [record.message for record in caplog.records] == ["search.not-reranked"]


async def test_the_time_of_the_reranker_is_measured_apart(kit: SearchKit) -> None:
    assert (await search(QUERY, kit)).timings.rerank_ms == 0.0
    timings = (await search(QUERY, replace(kit, reranker=ScriptedReranker()))).timings
    assert 0.0 < timings.rerank_ms < timings.total_ms
