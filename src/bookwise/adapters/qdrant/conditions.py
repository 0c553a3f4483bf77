"""Filter → conditions on payload fields, the same for every way to call the engine."""

from typing import NamedTuple, TypeAlias

from bookwise.adapters.qdrant.schema import TENANT
from bookwise.domain.books import HARDWARE_TIERS
from bookwise.domain.search import Filter


class Equals(NamedTuple):
    """The field has this value."""

    field: str
    value: str | int


class AnyOf(NamedTuple):
    """The field has one of these values."""

    field: str
    values: list[str]


class Between(NamedTuple):
    """The field lies between two numbers, both included; None is no bound."""

    field: str
    low: int | None
    high: int | None


Condition: TypeAlias = Equals | AnyOf | Between


def of_book(book_id: str) -> Condition:
    return Equals(TENANT, book_id)


def of_lesson(book_id: str, lesson_id: str) -> list[Condition]:
    return [of_book(book_id), Equals("parent_doc_id", lesson_id)]


def of_chunk(book_id: str, chunk_id: str) -> list[Condition]:
    return [of_book(book_id), Equals("chunk_id", chunk_id)]


def of_chunks(book_id: str, chunk_ids: list[str]) -> list[Condition]:
    return [of_book(book_id), AnyOf("chunk_id", chunk_ids)]


def of_revisions(book_id: str, revisions: list[str]) -> list[Condition]:
    return [of_book(book_id), AnyOf("revision", revisions)]


def of_search(within: Filter) -> list[Condition]:
    """All conditions must hold; the first one is the book. Conditions that admit every chunk are left out."""
    conditions: list[Condition] = [of_book(within.book_id)]
    if within.hardware_tier < max(HARDWARE_TIERS):
        conditions.append(Between("hardware_tier", None, within.hardware_tier))
    if within.chapter_min is not None or within.chapter_max is not None:
        conditions.append(Between("chapter", within.chapter_min, within.chapter_max))
    if within.proficiency_levels:
        conditions.append(AnyOf("proficiency_level", list(within.proficiency_levels)))
    for field, value in (
        ("module", within.module),
        ("lesson", within.lesson),
        ("layer", within.layer),
        ("parent_doc_id", within.lesson_id),
    ):
        if value is not None:
            conditions.append(Equals(field, value))
    return conditions
