"""Filter → Qdrant filter. The book is always one of the conditions, unless the shard holds no other book."""

from typing import Any

import qdrant_edge as qdrant

from bookwise.adapters.qdrant.schema import TENANT
from bookwise.domain.books import HARDWARE_TIERS
from bookwise.domain.search import Filter


def of_book(book_id: str) -> qdrant.Filter:
    return qdrant.Filter(must=[equals(TENANT, book_id)])


def equals(field: str, value: str | int) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(key=field, match=qdrant.MatchValue(value))


def any_of(field: str, values: list[str]) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(key=field, match=qdrant.MatchAny(values))


def to_qdrant(within: Filter, *, only_book: str | None = None) -> qdrant.Filter | None:
    """All conditions must hold. Conditions that admit every chunk are left out.

    `only_book` is the book that is alone in the shard, if there is one; it needs no condition.
    """
    conditions: list[Any] = [] if within.book_id == only_book else [equals(TENANT, within.book_id)]
    if within.hardware_tier < max(HARDWARE_TIERS):
        conditions.append(_between("hardware_tier", None, within.hardware_tier))
    if within.chapter_min is not None or within.chapter_max is not None:
        conditions.append(_between("chapter", within.chapter_min, within.chapter_max))
    if within.proficiency_levels:
        conditions.append(any_of("proficiency_level", list(within.proficiency_levels)))
    for field, value in (
        ("module", within.module),
        ("lesson", within.lesson),
        ("layer", within.layer),
        ("parent_doc_id", within.lesson_id),
    ):
        if value is not None:
            conditions.append(equals(field, value))
    return qdrant.Filter(must=conditions) if conditions else None


def _between(field: str, low: int | None, high: int | None) -> qdrant.FieldCondition:
    return qdrant.FieldCondition(key=field, range=qdrant.RangeFloat(gte=low, lte=high))
