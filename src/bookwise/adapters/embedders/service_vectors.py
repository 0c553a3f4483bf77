"""Rows of numbers from a service → valid unit vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bookwise.domain.books import Vector
from bookwise.domain.errors import EmbedderUnavailable

_ADVICE = "Check the name of the embedding model, and set BOOKWISE_EMBEDDING_SIZE to the size of its vectors."


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSource:
    """The position of a batch among all texts of the caller."""

    first: int
    count: int
    total: int


def unit_vectors(rows: Sequence[object], *, size: int, source: VectorSource, service: str) -> list[Vector]:
    """Every row scaled to length 1; `EmbedderUnavailable` names the first text with an invalid row."""
    if len(rows) != source.count:
        raise EmbedderUnavailable(f"{service} returned {len(rows)} vectors for {source.count} texts.", advice=_ADVICE)
    vectors = []
    for number, row in enumerate(rows, start=source.first + 1):
        try:
            vectors.append(unit_vector(row, size))
        except ValueError as error:
            raise EmbedderUnavailable(
                f"{service} returned a vector {error} for text {number} of {source.total}.", advice=_ADVICE
            ) from error
    return vectors


def unit_vector(row: object, size: int) -> Vector:
    """The row scaled to length 1; `ValueError` with the reason if it is not a vector of this size."""
    if not isinstance(row, list):
        raise ValueError("that is not a list")
    if len(row) != size:
        raise ValueError(f"of {len(row)} numbers instead of {size}")
    numbers = _numbers(row)
    if not np.isfinite(numbers).all():
        raise ValueError("with a number that is not finite")
    largest = float(np.abs(numbers).max())
    if largest == 0.0:
        raise ValueError("of zeros")
    scaled = numbers / largest  # the squares of very large or very small numbers would overflow or underflow
    return tuple((scaled / np.linalg.norm(scaled)).tolist())


def _numbers(row: list[object]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        numbers = np.asarray(row)
    except ValueError:  # nested lists of unequal length
        numbers = np.asarray(None)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
        raise ValueError("with values that are not numbers")
    return numbers.astype(np.float64)
