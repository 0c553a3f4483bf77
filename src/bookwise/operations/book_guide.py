"""A book → what helps a reader to begin: starter questions, and the values that questions can be limited to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio.to_thread

from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError
from bookwise.domain.jobs import LessonRecord
from bookwise.domain.lesson_order import in_reading_order
from bookwise.evaluation.dataset import questions_of
from bookwise.wiring import App

T = TypeVar("T")

STARTERS = 4  #: questions shown
STARTERS_MIN = 3  #: questions of a selection that is preferred
STARTER_MAX = 75  #: characters; a longer question is hard to read at a glance
#: Titles that name a part of any book, not a subject.
GENERAL_TITLES = frozenset(
    """about|acknowledgements|acknowledgments|appendix|bibliography|changelog|conclusion|contents|contributing
    contributors|credits|foreword|glossary|home|index|introduction|license|overview|preface|readme|references
    release notes|summary|table of contents|welcome""".replace("\n    ", "|").split("|")
)
LESSONS_READ = 60  #: for the audience of a book; reading every lesson of a large book would take seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BookGuide:
    """Starter questions, and the values of each filter in the order of the book."""

    questions: tuple[str, ...]
    modules: tuple[str, ...]
    chapters: tuple[int, ...]
    hardware_tiers: tuple[int, ...]
    proficiency_levels: tuple[str, ...]


async def read_guide(book: Book, app: App) -> BookGuide:
    """Returns the guide. Questions come from `[[questions]]` of the book, else from the titles of its lessons."""
    records = in_reading_order(await app.catalog.records(book.id), [module.name for module in book.modules])
    audiences = await _audiences(book, spread(records, LESSONS_READ), app)
    return BookGuide(
        questions=await anyio.to_thread.run_sync(_own_questions, book) or _title_questions(records),
        modules=tuple(dict.fromkeys(record.position.module for record in records)),
        chapters=tuple(sorted({record.position.chapter for record in records})),
        hardware_tiers=tuple(sorted({tier for tier, _ in audiences})),
        proficiency_levels=tuple(sorted({level for _, level in audiences})),
    )


async def _audiences(book: Book, records: Sequence[LessonRecord], app: App) -> set[tuple[int, str]]:
    """Tier and level of these lessons, each from one chunk: a lesson has one audience."""
    found = set()
    for record in records:
        for chunk in await app.index.chunk(book.id, record.chunk_ids[0]) if record.chunk_ids else ():
            found.add((chunk.audience.hardware_tier, chunk.audience.proficiency_level))
    return found


def _own_questions(book: Book) -> tuple[str, ...]:
    """Short answerable questions of different lessons; none if the book has none that can be read."""
    try:
        questions = questions_of(book)
    except BookwiseError:
        return ()
    by_lesson: dict[str | None, str] = {}
    for question in questions:
        if question.kind == "answerable" and len(question.text) <= STARTER_MAX:
            by_lesson.setdefault(question.lesson, question.text)
    return tuple(spread(preferred(list(by_lesson.values()), _is_sentence), STARTERS))


def _is_sentence(question: str) -> bool:
    return question[:1].isupper() and question.endswith("?")


def _title_questions(records: Sequence[LessonRecord]) -> tuple[str, ...]:
    titles = dict.fromkeys(record.title for record in records if len(record.title) <= STARTER_MAX // 2 + 10)
    return tuple(_question_about(title) for title in spread(preferred(list(titles), _is_subject), STARTERS))


def _is_subject(title: str) -> bool:
    return title.strip().casefold() not in GENERAL_TITLES


def _question_about(title: str) -> str:
    return title if title.endswith("?") else f"What does the book say about {title}?"


def preferred(items: Sequence[T], is_preferred: Callable[[T], bool]) -> Sequence[T]:
    """The preferred items if they are enough, else all."""
    found = [item for item in items if is_preferred(item)]
    return found if len(found) >= STARTERS_MIN else items


def spread(items: Sequence[T], count: int) -> Sequence[T]:
    """At most `count` of the items, evenly spread."""
    return items if len(items) <= count else [items[place * len(items) // count] for place in range(count)]
