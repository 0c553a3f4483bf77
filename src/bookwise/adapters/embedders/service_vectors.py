"""Rows of numbers a service sent into unit vectors that can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bookwise.domain.books import Vector
from bookwise.domain.errors import EmbedderUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSource:
    """Which of the caller's texts a batch holds."""

    first: int
    count: int
    total: int


def unit_vectors(rows: Sequence[object], *, size: int, place: VectorSource, service: str) -> list[Vector]:
    """Every row scaled to length 1; `EmbedderUnavailable` names the first text whose row cannot be used."""
    if len(rows) != place.count:
        raise EmbedderUnavailable(f"{service} sent {len(rows)} vectors for {place.count} texts.")
    found = []
    for number, row in enumerate(rows, start=place.first + 1):
        try:
            found.append(unit_vector(row, size))
        except ValueError as error:
            raise EmbedderUnavailable(f"{service} sent a vector {error} for text {number} of {place.total}.") from error
    return found


def unit_vector(row: object, size: int) -> Vector:
    """The row scaled to length 1; `ValueError` says what is wrong with it."""
    if not isinstance(row, list):
        raise ValueError("that is no list")
    if len(row) != size:
        raise ValueError(f"of {len(row)} numbers instead of {size}")
    numbers = _numbers(row)
    if not np.isfinite(numbers).all():
        raise ValueError("with a number that is not finite")
    largest = float(np.abs(numbers).max())
    if largest == 0.0:
        raise ValueError("of zeros")
    scaled = numbers / largest  # the squares of very large or very small numbers leave the range of a float
    return tuple((scaled / np.linalg.norm(scaled)).tolist())


def _numbers(row: list[object]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        numbers = np.asarray(row)
    except ValueError:  # lists of unequal length inside
        numbers = np.asarray(None)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
        raise ValueError("that holds something else than numbers")
    return numbers.astype(np.float64)
