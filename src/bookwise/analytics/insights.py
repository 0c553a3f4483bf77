"""What readers asked → what an author wants to know of it: gaps in the book, most asked lessons, refusals by day."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

import anyio.to_thread

from bookwise.analytics.gaps import Gap, common_terms, gaps
from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.ports import Journal

READ_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How many questions, and what became of them. Greetings and thanks are no questions."""

    asked: int = 0
    answered: int = 0
    refused: int = 0
    blocked: int = 0
    interrupted: int = 0

    @property
    def refusal_rate(self) -> float:
        """The share of the questions that were refused; 0 where there are none."""
        return self.refused / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day, by UTC."""

    date: date
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLesson:
    """A lesson, and how many answers quote it."""

    lesson: QuotedLesson
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """What readers thought of the answers."""

    up: int
    down: int

    @property
    def share_up(self) -> float | None:
        """None: nobody has rated yet."""
        return self.up / (self.up + self.down) if self.up + self.down else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What readers asked of one book, and what became of it."""

    days: int
    truncated: bool  #: more was asked than is read at once; the oldest is left out
    totals: Figures
    ratings: Ratings
    gaps: tuple[Gap, ...]  #: unanswered ones first, then those answered with low confidence; most asked first
    lessons: tuple[AskedLesson, ...]  #: most asked first
    disliked: tuple[AskedQuestion, ...]  #: newest first
    by_day: tuple[Day, ...]  #: oldest first, without holes


async def read_insights(journal: Journal, book_id: str, *, days: int, now: datetime) -> Insights:
    """The insights of the last days, today included."""
    asked = await journal.asked(book_id, since=_start(days, now), limit=READ_MAX)
    return await anyio.to_thread.run_sync(partial(insights, asked, days=days, now=now))


def insights(asked: Sequence[AskedQuestion], *, days: int, now: datetime) -> Insights:
    """What the notes of these days say, in whatever order they come; others are left out."""
    first, last = _start(days, now).date(), now.astimezone(UTC).date()
    noted = [one for one in asked if first <= _day(one) <= last]
    noted.sort(key=lambda one: (one.asked_at, one.answer_id), reverse=True)
    truncated = len(asked) >= READ_MAX
    if truncated and noted:
        first = _day(noted[-1])
    questions = [one for one in noted if not _is_small_talk(one)]
    thumbs = Counter(one.thumb for one in noted)
    return Insights(
        days=days,
        truncated=truncated,
        totals=_figures(questions),
        ratings=Ratings(up=thumbs["up"], down=thumbs["down"]),
        gaps=_gaps(questions),
        lessons=_lessons(questions),
        disliked=tuple(one for one in noted if one.thumb == "down"),
        by_day=_by_day(questions, first, last),
    )


def _start(days: int, now: datetime) -> datetime:
    """Midnight before the first of so many days, of which today is the last."""
    return datetime.combine(now.astimezone(UTC).date() - timedelta(days=days - 1), time(), UTC)


def _day(one: AskedQuestion) -> date:
    return one.asked_at.astimezone(UTC).date()


def _is_small_talk(one: AskedQuestion) -> bool:
    return one.outcome == "refused" and one.reason == "small-talk"


def _figures(questions: Sequence[AskedQuestion]) -> Figures:
    became = Counter(one.outcome for one in questions)
    return Figures(
        asked=len(questions),
        answered=became["answered"],
        refused=became["refused"],
        blocked=became["blocked"],
        interrupted=became["interrupted"],
    )


def _gaps(questions: Sequence[AskedQuestion]) -> tuple[Gap, ...]:
    answered = [one for one in questions if one.outcome == "answered"]
    common = common_terms([one.question for one in answered])
    unanswered = [one for one in questions if one.outcome == "refused"]
    unsure = [one for one in answered if one.level == "low"]
    return (*gaps(unanswered, "unanswered", common=common), *gaps(unsure, "low-confidence", common=common))


def _lessons(questions: Sequence[AskedQuestion]) -> tuple[AskedLesson, ...]:
    quoted = [lesson for one in questions for lesson in one.lessons]
    counted = Counter(lesson.lesson_id for lesson in quoted)
    newest = {lesson.lesson_id: lesson for lesson in reversed(quoted)}
    found = [AskedLesson(lesson=lesson, count=counted[lesson_id]) for lesson_id, lesson in newest.items()]
    return tuple(sorted(found, key=lambda one: (-one.count, one.lesson.title, one.lesson.lesson_id)))


def _by_day(questions: Sequence[AskedQuestion], first: date, last: date) -> tuple[Day, ...]:
    asked: dict[date, list[AskedQuestion]] = {first + timedelta(days=at): [] for at in range((last - first).days + 1)}
    for one in questions:
        asked[_day(one)].append(one)
    return tuple(Day(date=day, figures=_figures(found)) for day, found in asked.items())
