"""Public JSON objects of readers' ratings and of the insights for the author."""

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from bookwise.analytics.gaps import Gap, GapKind
from bookwise.analytics.insights import AskedLesson, Day, Figures, Insights
from bookwise.domain.books import Book
from bookwise.domain.journal import COMMENT_MAX, AskedOutcome, AskedQuestion, Thumb
from bookwise.schemas.wire import EXAMPLE_ANSWER_ID, Shape, Similarity, UtcTime, examples

LIST_MAX = 50  #: entries of each list


class Feedback(Shape):
    """A reader's rating of an answer."""

    model_config = examples(
        {"answer_id": EXAMPLE_ANSWER_ID, "thumb": "down", "reason": "incomplete", "comment": "I use Windows."}
    )

    answer_id: str = Field(max_length=100, description="The `answer_id` of the answer.")
    thumb: Thumb
    reason: Literal["incorrect", "incomplete", "off-topic", "unclear"] | None = Field(
        default=None, description="What was wrong; stored at the beginning of the comment."
    )
    comment: Annotated[str, StringConstraints(strip_whitespace=True, max_length=COMMENT_MAX)] = ""

    @property
    def stored_comment(self) -> str:
        """The comment as the author reads it, with the reason first."""
        return ": ".join(part for part in ((self.reason or "").capitalize(), self.comment) if part)


class QuestionFigures(Shape):
    """Number of questions by outcome. Greetings and thanks are not counted."""

    asked: int = Field(ge=0)
    answered: int = Field(ge=0)
    refused: int = Field(ge=0)
    blocked: int = Field(ge=0)
    interrupted: int = Field(ge=0)
    refusal_rate: Similarity = Field(description="refused ÷ asked; 0 when nothing was asked.")
    low_confidence: int = Field(default=0, ge=0, description="Answered with low confidence.")
    uncertain_rate: Similarity = Field(
        default=0.0, description="(refused + low_confidence) ÷ asked; 0 when nothing was asked."
    )

    @classmethod
    def of(cls, figures: Figures) -> Self:
        return cls(
            asked=figures.asked,
            answered=figures.answered,
            refused=figures.refused,
            blocked=figures.blocked,
            interrupted=figures.interrupted,
            refusal_rate=round(figures.refusal_rate, 4),
            low_confidence=figures.low_confidence,
            uncertain_rate=round(figures.uncertain_rate, 4),
        )


class DayFigures(QuestionFigures):
    """Number of questions of one day (UTC), by outcome."""

    date: date

    @classmethod
    def of_day(cls, day: Day) -> Self:
        return cls(date=day.date, **QuestionFigures.of(day.figures).model_dump())


class QuestionGroup(Shape):
    """Questions about one subject that got no answer, or one with low confidence. The book may cover it anyway."""

    kind: GapKind
    name: str
    count: int = Field(ge=1)
    last_asked: UtcTime
    examples: tuple[str, ...] = Field(description="The newest questions, without repeats.")

    @classmethod
    def of(cls, gap: Gap) -> Self:
        return cls(kind=gap.kind, name=gap.name, count=gap.count, last_asked=gap.last_asked, examples=gap.examples)


class MostAskedLesson(Shape):
    """A lesson and the number of answers that quote it."""

    lesson_id: str
    title: str
    url: str = Field(description="Where the lesson is published, or its source file.")
    count: int = Field(ge=1)

    @classmethod
    def of(cls, entry: AskedLesson) -> Self:
        lesson = entry.lesson
        return cls(lesson_id=lesson.lesson_id, title=lesson.title, url=lesson.url, count=entry.count)


class DislikedAnswer(Shape):
    """A question whose answer was rated down."""

    question: str
    comment: str
    outcome: AskedOutcome
    asked_at: UtcTime

    @classmethod
    def of(cls, entry: AskedQuestion) -> Self:
        return cls(question=entry.question, comment=entry.comment, outcome=entry.outcome, asked_at=entry.asked_at)


class RatingFigures(Shape):
    """Number of ratings."""

    up: int = Field(ge=0)
    down: int = Field(ge=0)
    share_up: Similarity | None = Field(description="up ÷ (up + down); null without ratings.")


_FIGURES: dict[str, Any] = {
    "asked": 4,
    "answered": 2,
    "refused": 2,
    "blocked": 0,
    "interrupted": 0,
    "refusal_rate": 0.5,
    "low_confidence": 1,
    "uncertain_rate": 0.75,
}
INSIGHTS_EXAMPLE: dict[str, Any] = {
    "book_id": "physical-ai-robotics",
    "title": "Physical AI",
    "days": 1,
    "truncated": False,
    "totals": _FIGURES,
    "ratings": {"up": 1, "down": 1, "share_up": 0.5},
    "unanswered": [
        {
            "kind": "unanswered",
            "name": "lidar",
            "count": 2,
            "last_asked": "2026-03-29T12:00:00.000Z",
            "examples": ["How do I calibrate the lidar?", "What does a lidar cost?"],
        }
    ],
    "low_confidence": [],
    "lessons": [{"lesson_id": "nodes", "title": "Nodes", "url": "https://book.example/nodes", "count": 2}],
    "disliked": [
        {
            "question": "How do I install ROS 2?",
            "comment": "I use Windows.",
            "outcome": "answered",
            "asked_at": "2026-03-29T09:30:00.000Z",
        }
    ],
    "by_day": [{"date": "2026-03-29", **_FIGURES}],
}


class InsightsResponse(Shape):
    """What readers asked about one book. Each list holds at most 50 entries."""

    model_config = examples(INSIGHTS_EXAMPLE)

    book_id: str
    title: str = Field(description="Title of the book.")
    days: int = Field(ge=1)
    truncated: bool = Field(description="There were too many questions to read; the oldest are left out.")
    totals: QuestionFigures
    ratings: RatingFigures
    unanswered: tuple[QuestionGroup, ...] = Field(description="Refused questions, largest group first.")
    low_confidence: tuple[QuestionGroup, ...] = Field(description="Answered with low confidence.")
    lessons: tuple[MostAskedLesson, ...] = Field(description="Most asked first.")
    disliked: tuple[DislikedAnswer, ...] = Field(description="Newest first.")
    by_day: tuple[DayFigures, ...] = Field(description="One entry for every day, oldest first.")

    @classmethod
    def of(cls, book: Book, insights: Insights) -> Self:
        ratings = insights.ratings
        share = None if ratings.share_up is None else round(ratings.share_up, 4)
        return cls(
            book_id=book.id,
            title=book.title,
            days=insights.days,
            truncated=insights.truncated,
            totals=QuestionFigures.of(insights.totals),
            ratings=RatingFigures(up=ratings.up, down=ratings.down, share_up=share),
            unanswered=_groups(insights, "unanswered"),
            low_confidence=_groups(insights, "low-confidence"),
            lessons=tuple(map(MostAskedLesson.of, insights.lessons[:LIST_MAX])),
            disliked=tuple(map(DislikedAnswer.of, insights.disliked[:LIST_MAX])),
            by_day=tuple(map(DayFigures.of_day, insights.by_day)),
        )


def _groups(insights: Insights, kind: GapKind) -> tuple[QuestionGroup, ...]:
    return tuple([QuestionGroup.of(gap) for gap in insights.gaps if gap.kind == kind][:LIST_MAX])
