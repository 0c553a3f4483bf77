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
from bookwise.text.title_questions import question_about, subject_of
from bookwise.wiring import App

T = TypeVar("T")

STARTERS = 4  #: questions shown
STARTERS_MIN = 3  #: enough questions of one kind: then no others are shown
STARTER_MAX = 75  #: characters; a longer question is hard to read at a glance
LESSONS_READ = 60  #: for audience and headings; reading every lesson of a large book would take seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BookGuide:
    """Starter questions, and the values of each filter in the order of the book."""

    questions: tuple[str, ...]
    modules: tuple[str, ...]
    chapters: tuple[int, ...]
    hardware_tiers: tuple[int, ...]
    proficiency_levels: tuple[str, ...]


async def read_guide(book: Book, app: App) -> BookGuide:
    """Returns the guide. Questions come from `[[questions]]` of the book, then from its titles and headings."""
    records = in_reading_order(await app.catalog.records(book.id), [module.name for module in book.modules])
    audiences = await _audiences(book, spread(records, LESSONS_READ), app)
    return BookGuide(
        questions=await _starters(book, records, app),
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


async def _starters(book: Book, records: Sequence[LessonRecord], app: App) -> tuple[str, ...]:
    """The book's own questions. If they are few, questions about its titles are added, and then about its headings."""
    own = await anyio.to_thread.run_sync(_own_questions, book)
    if len(own) >= STARTERS_MIN:
        return tuple(spread(preferred(list(own.values()), _is_sentence), STARTERS))
    titles = [record.title for record in records if record.source_file not in own]
    found = _filled(list(own.values()), title_questions(titles, book.title))
    if len(found) < STARTERS:
        found = _filled(found, title_questions(await _headings(book, records, app), book.title))
    return tuple(found)


def _filled(found: Sequence[str], more: Sequence[str]) -> list[str]:
    """The questions, and as many others as are needed."""
    known = {question.casefold() for question in found}
    others = [question for question in more if question.casefold() not in known]
    return [*found, *spread(others, STARTERS - len(found))]


async def _headings(book: Book, records: Sequence[LessonRecord], app: App) -> list[str]:
    """The headings of some sections, in the order of the book."""
    ids = [chunk_id for record in records for chunk_id in record.chunk_ids]
    found = [await app.index.chunk(book.id, chunk_id) for chunk_id in spread(ids, LESSONS_READ)]
    headings = (chunk.locator.section_title for chunks in found for chunk in chunks)
    return list(dict.fromkeys(heading for heading in headings if heading))


def _own_questions(book: Book) -> dict[str | None, str]:
    """Short answerable questions by lesson, one for each; none if the book has none that can be read."""
    try:
        questions = questions_of(book)
    except BookwiseError:
        return {}
    by_lesson: dict[str | None, str] = {}
    for question in questions:
        if question.kind == "answerable" and len(question.text) <= STARTER_MAX:
            by_lesson.setdefault(question.lesson, question.text)
    return by_lesson


def _is_sentence(question: str) -> bool:
    return question[:1].isupper() and question.endswith("?")


def title_questions(titles: Sequence[str], book_title: str) -> Sequence[str]:
    """Questions about the titles that name a subject, other than the whole book. If enough of them read well, only
    these."""
    whole = subject_of(book_title).casefold()
    subjects = {title: subject_of(title) for title in titles}
    asked = [title for title, subject in subjects.items() if subject and not _is_whole(subject.casefold(), whole)]
    phrased = {title: question_about(title) for title in asked}
    chosen = preferred(asked, lambda title: phrased[title] is not None)
    found = (phrased[title] or f"What does the book say about {subjects[title]}?" for title in chosen)
    return [question for question in dict.fromkeys(found) if len(question) <= STARTER_MAX]


def _is_whole(subject: str, book: str) -> bool:
    """Whether a subject is the one of the whole book."""
    return subject == book or (" " in book and book in subject)


def preferred(items: Sequence[T], is_preferred: Callable[[T], bool]) -> Sequence[T]:
    """The preferred items if they are enough, else all."""
    found = [item for item in items if is_preferred(item)]
    return found if len(found) >= STARTERS_MIN else items


def spread(items: Sequence[T], count: int) -> Sequence[T]:
    """At most `count` of the items, evenly spread."""
    return items if len(items) <= count else [items[place * len(items) // count] for place in range(count)]
