"""Stored points → how many of them are still what was stored."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from bookwise.adapters.qdrant.schema import DENSE, VECTOR_CHECKSUM, WORDS, is_same_vector, to_chunk
from bookwise.adapters.qdrant.terms import TermEncoder
from bookwise.domain.books import Chunk

WEIGHT_TOLERANCE = 1e-5  #: a server may return a weight with fewer digits


def count_sound(records: Iterable[Any], encoder: TermEncoder) -> dict[str, int]:
    """The number of undamaged points per revision. The records have their payload and both vectors."""
    return dict(Counter(chunk.revision for record in records if (chunk := _sound_chunk(record, encoder))))


def _sound_chunk(record: Any, encoder: TermEncoder) -> Chunk | None:
    chunk = to_chunk(record.payload)
    if chunk is None or not {DENSE, WORDS} <= (record.vector or {}).keys():
        return None
    dense, words = record.vector[DENSE], record.vector[WORDS]
    checksum = record.payload.get(VECTOR_CHECKSUM)  # earlier releases stored none
    has_vector = checksum is None or is_same_vector(dense, checksum)
    return chunk if has_vector and _has_words(chunk, words, encoder) else None


def _has_words(chunk: Chunk, words: Any, encoder: TermEncoder) -> bool:
    """Whether the stored words are those of the text."""
    stored = dict(zip(words.indices, words.values, strict=True))
    expected = dict(zip(*encoder.of_chunk(chunk), strict=True))
    same_terms = stored.keys() == expected.keys()
    return same_terms and all(math.isclose(stored[t], expected[t], rel_tol=WEIGHT_TOLERANCE) for t in stored)
