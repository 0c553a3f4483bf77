"""Questions of readers → a CSV table that is safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator

from bookwise.analytics.question_list import ListedQuestion

COLUMNS = (
    *("asked_at", "question", "outcome", "reason", "confidence", "rating", "comment", "status", "lessons"),
    "searched",
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def questions_csv(questions: Iterable[ListedQuestion]) -> str:
    """Returns one row per question, with a heading. No row says who asked."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(COLUMNS)
    writer.writerows([neutralized(cell) for cell in _cells(question)] for question in questions)
    return table.getvalue()


def neutralized(cell: str) -> str:
    """Returns the cell with an apostrophe in front, if a spreadsheet would take it for a formula."""
    return f"'{cell}" if cell.lstrip(" \n").startswith(_FORMULA_STARTS) else cell


def _cells(question: ListedQuestion) -> Iterator[str]:
    entry = question.entry
    yield entry.asked_at.isoformat(timespec="seconds")
    yield entry.question
    yield entry.outcome
    yield entry.reason
    yield entry.level
    yield entry.thumb or ""
    yield entry.comment
    yield question.status
    yield "; ".join(lesson.title for lesson in entry.lessons)
    yield entry.searched or ""
