"""Text → BM25 terms, computed in this process for every index: one meaning of a word, wherever it is stored."""

from typing import NamedTuple

import qdrant_edge as qdrant

from bookwise.adapters.qdrant import lexical
from bookwise.domain.books import Chunk


class Terms(NamedTuple):
    """Term ids and their weights, in the same order."""

    indices: list[int]
    values: list[float]


class TermEncoder:
    """BM25 with the same stemming and stop words for chunks and questions."""

    def __init__(self) -> None:
        self._bm25 = qdrant.Bm25(qdrant.Bm25Config(k=lexical.SATURATION, avg_len=lexical.AVERAGE_WORDS))

    def of_chunk(self, chunk: Chunk) -> Terms:
        return _terms(self._bm25.embed_document(lexical.lexical_text(chunk)))

    def of_query(self, words: str) -> Terms:
        return _terms(self._bm25.embed_query(words))


def _terms(vector: qdrant.SparseVector) -> Terms:
    return Terms(list(vector.indices), list(vector.values))
