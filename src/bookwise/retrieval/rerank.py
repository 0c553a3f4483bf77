"""Hits in the order of the search → in the order of a reranker, on the same calibrated scale."""

import logging
from collections.abc import Sequence

import anyio

from bookwise.domain.books import Chunk
from bookwise.domain.errors import BookwiseError, RerankerUnavailable
from bookwise.ports import Reranker
from bookwise.retrieval.fuse import Ranked

logger = logging.getLogger(__name__)

RERANK_CANDIDATES = 20  #: hits that a reranker compares, if the caller does not ask for more
RERANK_SECONDS = 5.0  #: then the order of the search stays; chosen, not fitted

Match = tuple[Ranked, Chunk]


async def rerank(
    question: str, matches: Sequence[Match], reranker: Reranker | None, *, seconds: float
) -> tuple[list[Match], tuple[str, ...]]:
    """The matches in the order of the reranker, and notes. Without a reranker, or if it fails, the order is unchanged.

    The n-th match gets the n-th highest relevance and strength of all. So a similarity still says how good the
    search is: thresholds admit as many hits as before, and never a worse hit before a better one.
    """
    if reranker is None or len(matches) < 2:
        return list(matches), ()
    try:
        scores = await _scores(question, matches, reranker, seconds)
    except BookwiseError as error:
        logger.warning("search.not-reranked", extra={"code": error.code, "detail": error.message})
        return list(matches), (f"The results are not reranked: {error.message}",)
    order = sorted(range(len(matches)), key=lambda place: (-scores[place], place))
    return _rescaled([matches[place] for place in order]), ()


async def _scores(question: str, matches: Sequence[Match], reranker: Reranker, seconds: float) -> list[float]:
    try:
        with anyio.fail_after(seconds):
            return await reranker.scores(question, [chunk.embedding_text or chunk.text for _, chunk in matches])
    except TimeoutError:
        raise RerankerUnavailable(f"{reranker.name} did not respond within {seconds:g} s.") from None


def _rescaled(matches: Sequence[Match]) -> list[Match]:
    relevance = sorted((match.relevance for match, _ in matches), reverse=True)
    strength = sorted((match.strength for match, _ in matches), reverse=True)
    return [
        (match._replace(relevance=relevance[place], strength=strength[place]), chunk)
        for place, (match, chunk) in enumerate(matches)
    ]
