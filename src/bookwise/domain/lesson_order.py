"""Lessons of a book → their reading order."""

from collections.abc import Iterable, Sequence

from bookwise.domain.jobs import LessonRecord


def in_reading_order(records: Iterable[LessonRecord], modules: Sequence[str]) -> list[LessonRecord]:
    """The lessons by module, chapter and number. Modules that the book does not list come last."""
    places = {name: place for place, name in enumerate(modules)}

    def place(record: LessonRecord) -> tuple[int, str, int, int, str]:
        where = record.position
        return places.get(where.module, len(places)), where.module, where.chapter, where.lesson, record.source_file

    return sorted(records, key=place)


def neighbours(
    records: Iterable[LessonRecord], lesson_id: str, modules: Sequence[str]
) -> tuple[LessonRecord | None, LessonRecord | None]:
    """The lessons before and after this one."""
    ordered = in_reading_order(records, modules)
    at = next((at for at, record in enumerate(ordered) if record.lesson_id == lesson_id), None)
    if at is None:
        return None, None
    return ordered[at - 1] if at else None, ordered[at + 1] if at + 1 < len(ordered) else None
