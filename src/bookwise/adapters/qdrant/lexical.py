"""BM25 for chunks: the text that is indexed, and raw scores on a scale from 0 to 1.

Pure functions, independent of the engine that stores the terms and computes the raw scores.
"""

import math
from collections.abc import Iterable

from bookwise.domain.books import Chunk

# Other values stayed within noise on five sets (docs/benchmarks.md, Retrieval).
#: BM25's k1: how quickly repeating a term stops adding to the score.
SATURATION = 1.2
#: BM25's average document length, in words. A constant, so that a chunk's weights never depend on other chunks.
AVERAGE_WORDS = 80.0
#: How often titles are indexed: a word in a title counts as much as three in the text.
TITLE_REPEATS = 3

_SMALLEST_MAXIMUM = 1e-9


def lexical_text(chunk: Chunk) -> str:
    """The text whose words are indexed: page title and headings, repeated, then the chunk's text."""
    locator = chunk.locator
    titles = " ".join((locator.page_title, *locator.heading_path))
    return "\n".join([titles] * TITLE_REPEATS + [chunk.text])


def term_idf(score: float, weight: float) -> float:
    """The inverse document frequency behind the raw score of a query with one term of weight 1.

    `weight` is the stored weight of that term in the chunk that has the score.
    """
    return score / weight


def unknown_term_idf(chunk_count: int) -> float:
    """The inverse document frequency of a term that occurs in none of `chunk_count` chunks."""
    return math.log(2 * chunk_count + 2)


def maximum_score(idfs: Iterable[float | None], chunk_count: int) -> float:
    """The raw score of a chunk that repeats every query term without end; always positive.

    `idfs` has one value per query term, None for a term that occurs in no chunk.
    """
    unknown = unknown_term_idf(chunk_count)
    total = sum(unknown if idf is None else idf for idf in idfs)
    return max(total * (SATURATION + 1), _SMALLEST_MAXIMUM)


def normalize_score(score: float, maximum: float) -> float:
    """The raw score as a share of the maximum, at most 1. Comparable between queries and books."""
    return min(1.0, score / maximum)
