"""Questions of readers → insights for the author: gaps in the book, most cited lessons, refusals by day."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

import anyio.to_thread

from bookwise.analytics.gaps import Gap, common_terms, gaps
from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.ports import Journal
from bookwise.text.masking import mask

READ_MAX = 10_000  #: questions read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The number of questions by outcome. Small talk does not count."""

    asked: int = 0
    answered: int = 0
    refused: int = 0
    blocked: int = 0
    interrupted: int = 0
    low_confidence: int = 0  #: of the answered ones

    @property
    def refusal_rate(self) -> float:
        """Returns the share of refused questions; 0 without questions."""
        return self.refused / self.asked if self.asked else 0.0

    @property
    def uncertain_rate(self) -> float:
        """Returns the share of questions that were refused or answered with low confidence; 0 without questions."""
        return (self.refused + self.low_confidence) / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The figures of one day (UTC)."""

    date: date
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLesson:
    """A lesson and the number of answers that cite it."""

    lesson: QuotedLesson
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The number of ratings by readers."""

    up: int
    down: int

    @property
    def share_up(self) -> float | None:
        """Returns the share of positive ratings; None without ratings."""
        return self.up / (self.up + self.down) if self.up + self.down else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What readers asked about one book, and how it was answered."""

    days: int
    truncated: bool  #: there are more questions than `READ_MAX`; the oldest are not included
    totals: Figures
    ratings: Ratings
    gaps: tuple[Gap, ...]  #: unanswered ones first, then those with low confidence; the largest first
    lessons: tuple[AskedLesson, ...]  #: most cited first
    disliked: tuple[AskedQuestion, ...]  #: newest first
    by_day: tuple[Day, ...]  #: oldest first, every day


async def read_insights(journal: Journal, book_id: str, *, days: int, now: datetime) -> Insights:
    """Returns the insights of the last `days` days, including today (UTC)."""
    questions = await read_questions(journal, book_id, days=days, now=now)
    return await anyio.to_thread.run_sync(partial(insights, questions, days=days, now=now))


async def read_questions(journal: Journal, book_id: str, *, days: int, now: datetime) -> list[AskedQuestion]:
    """Returns the questions of the last `days` days, newest first, at most `READ_MAX`, with e-mail addresses and keys
    masked: what authors see and export comes from here."""
    questions = await journal.questions(book_id, since=_start(days, now), limit=READ_MAX)
    return await anyio.to_thread.run_sync(lambda: list(map(masked, questions)))


def masked(entry: AskedQuestion) -> AskedQuestion:
    searched = entry.searched and mask(entry.searched)
    return replace(entry, question=mask(entry.question), searched=searched, comment=mask(entry.comment))


def insights(asked_questions: Sequence[AskedQuestion], *, days: int, now: datetime) -> Insights:
    """Returns the insights of these questions, in any order; questions of other days are ignored."""
    first, last = _start(days, now).date(), now.astimezone(UTC).date()
    entries = [entry for entry in asked_questions if first <= _day(entry) <= last]
    entries.sort(key=lambda entry: (entry.asked_at, entry.answer_id), reverse=True)
    truncated = len(asked_questions) >= READ_MAX
    if truncated and entries:
        first = _day(entries[-1])
    questions = [entry for entry in entries if not is_small_talk(entry)]
    thumbs = Counter(entry.thumb for entry in entries)
    return Insights(
        days=days,
        truncated=truncated,
        totals=_figures(questions),
        ratings=Ratings(up=thumbs["up"], down=thumbs["down"]),
        gaps=_gaps(questions),
        lessons=_lessons(questions),
        disliked=tuple(entry for entry in entries if entry.thumb == "down"),
        by_day=_by_day(questions, first, last),
    )


def _start(days: int, now: datetime) -> datetime:
    """Returns the start of the first of `days` days, of which today is the last."""
    return datetime.combine(now.astimezone(UTC).date() - timedelta(days=days - 1), time(), UTC)


def _day(entry: AskedQuestion) -> date:
    return entry.asked_at.astimezone(UTC).date()


def is_small_talk(entry: AskedQuestion) -> bool:
    return entry.outcome == "refused" and entry.reason == "small-talk"


def is_low_confidence(entry: AskedQuestion) -> bool:
    return entry.outcome == "answered" and entry.level == "low"


def _figures(questions: Sequence[AskedQuestion]) -> Figures:
    outcomes = Counter(entry.outcome for entry in questions)
    return Figures(
        asked=len(questions),
        answered=outcomes["answered"],
        refused=outcomes["refused"],
        blocked=outcomes["blocked"],
        interrupted=outcomes["interrupted"],
        low_confidence=sum(map(is_low_confidence, questions)),
    )


def _gaps(questions: Sequence[AskedQuestion]) -> tuple[Gap, ...]:
    answered = [entry for entry in questions if entry.outcome == "answered"]
    common = common_terms([entry.standalone for entry in answered])
    unanswered = [entry for entry in questions if entry.outcome == "refused"]
    low_confidence = [entry for entry in answered if is_low_confidence(entry)]
    return (*gaps(unanswered, "unanswered", common=common), *gaps(low_confidence, "low-confidence", common=common))


def _lessons(questions: Sequence[AskedQuestion]) -> tuple[AskedLesson, ...]:
    lessons = [lesson for entry in questions for lesson in entry.lessons]
    counts = Counter(lesson.lesson_id for lesson in lessons)
    newest = {lesson.lesson_id: lesson for lesson in reversed(lessons)}
    ranking = [AskedLesson(lesson=lesson, count=counts[lesson_id]) for lesson_id, lesson in newest.items()]
    return tuple(sorted(ranking, key=lambda cited: (-cited.count, cited.lesson.title, cited.lesson.lesson_id)))


def _by_day(questions: Sequence[AskedQuestion], first: date, last: date) -> tuple[Day, ...]:
    by_date: dict[date, list[AskedQuestion]] = {first + timedelta(days=at): [] for at in range((last - first).days + 1)}
    for entry in questions:
        by_date[_day(entry)].append(entry)
    return tuple(Day(date=day, figures=_figures(entries)) for day, entries in by_date.items())
