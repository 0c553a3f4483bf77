"""Public JSON objects of the author's view: questions with their marks, lessons and validation runs."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from bookwise.analytics.insights import AskedLesson
from bookwise.analytics.question_list import (
    ListedQuestion,
    MarkStatus,
    QuestionGroupList,
    QuestionKind,
    QuestionList,
)
from bookwise.domain.answers import Level
from bookwise.domain.books import Book
from bookwise.domain.jobs import LessonRecord
from bookwise.domain.journal import AskedOutcome, Thumb
from bookwise.domain.search import Hit
from bookwise.domain.validation_runs import ValidationRun
from bookwise.schemas.insights import MostAskedLesson
from bookwise.schemas.wire import EXAMPLE_ANSWER_ID, EXAMPLE_BOOK_ID, EXAMPLE_TIME, Shape, Similarity, UtcTime, examples

GROUPS_MAX = 100
SHOWN_MAX = 200  #: questions of a list or a group that are returned with their text
MARKED_MAX = 500  #: questions that one request marks

_QUESTION: dict[str, Any] = {
    "answer_id": EXAMPLE_ANSWER_ID,
    "question": "How do I calibrate the lidar?",
    "asked_at": EXAMPLE_TIME,
    "outcome": "refused",
    "reason": "not-in-the-book",
    "level": "insufficient",
    "thumb": None,
    "comment": "",
    "status": "open",
    "asked_again": False,
}
_LESSON: dict[str, Any] = {"lesson_id": "nodes", "title": "Nodes", "url": "https://book.example/nodes"}


class AuthorQuestion(Shape):
    """A reader's question, its outcome, and what the author decided. E-mail addresses and keys are masked."""

    answer_id: str
    question: str = Field(description="The reader's words. Empty if questions are not stored.")
    searched: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="What was searched for, if it differs: the stand-alone form of a follow-up.",
    )
    asked_at: UtcTime
    outcome: AskedOutcome
    reason: str = Field(description="Why it was refused, blocked or interrupted.")
    level: Level = Field(description="Confidence of the answer.")
    thumb: Thumb | None = None
    comment: str
    status: MarkStatus
    asked_again: bool = Field(description="The same question was marked as fixed before it was asked.")

    @classmethod
    def of(cls, listed: ListedQuestion) -> Self:
        entry = listed.entry
        return cls(
            answer_id=entry.answer_id,
            question=entry.question,
            searched=entry.searched,
            asked_at=entry.asked_at,
            outcome=entry.outcome,
            reason=entry.reason,
            level=entry.level,
            thumb=entry.thumb,
            comment=entry.comment,
            status=listed.status,
            asked_again=listed.asked_again,
        )


class AuthorQuestionGroup(Shape):
    """Questions about one subject."""

    name: str
    count: int = Field(ge=1)
    last_asked: UtcTime
    answer_ids: tuple[str, ...] = Field(description="Of all questions in the group.")
    questions: tuple[AuthorQuestion, ...] = Field(description="The newest ones.")

    @classmethod
    def of(cls, group: QuestionGroupList) -> Self:
        return cls(
            name=group.name,
            count=len(group.questions),
            last_asked=group.questions[0].entry.asked_at,
            answer_ids=tuple(question.entry.answer_id for question in group.questions),
            questions=tuple(map(AuthorQuestion.of, group.questions[:SHOWN_MAX])),
        )


class StatusCounts(Shape):
    """Number of questions by the author's decision."""

    open: int = Field(ge=0)
    fixed: int = Field(ge=0)
    ignored: int = Field(ge=0)


class AuthorQuestionsResponse(Shape):
    """Questions of one kind and status: in groups if there are 30 or more, else as a list."""

    model_config = examples(
        {
            "book_id": EXAMPLE_BOOK_ID,
            "days": 30,
            "kind": "unanswered",
            "status": "open",
            "truncated": False,
            "questions_kept": True,
            "counts": {"open": 1, "fixed": 0, "ignored": 0},
            "total": 1,
            "groups": [],
            "questions": [_QUESTION],
        }
    )

    book_id: str
    days: int = Field(ge=1)
    kind: QuestionKind
    status: MarkStatus
    truncated: bool = Field(description="There were too many questions to read; the oldest are left out.")
    questions_kept: bool = Field(description="False: the service does not store questions, only their number.")
    counts: StatusCounts
    total: int = Field(ge=0, description="Number of questions of this kind and status.")
    groups: tuple[AuthorQuestionGroup, ...] = Field(description="By subject, the largest first. Empty for a list.")
    questions: tuple[AuthorQuestion, ...] = Field(description="Newest first. Empty if there are groups.")

    @classmethod
    def of(
        cls, found: QuestionList, book: Book, *, days: int, kind: QuestionKind, status: MarkStatus, questions_kept: bool
    ) -> Self:
        return cls(
            book_id=book.id,
            days=days,
            kind=kind,
            status=status,
            truncated=found.truncated,
            questions_kept=questions_kept,
            counts=StatusCounts.model_validate(found.counts),
            total=len(found.questions),
            groups=tuple(map(AuthorQuestionGroup.of, found.groups[:GROUPS_MAX])),
            questions=() if found.groups else tuple(map(AuthorQuestion.of, found.questions[:SHOWN_MAX])),
        )


class TranscriptMessage(Shape):
    """One message of the conversation that the question belongs to."""

    role: Literal["user", "assistant"]
    text: str
    html: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="An answer as safe HTML."
    )
    sent_at: UtcTime
    is_answer: bool = Field(description="The answer to the question that was requested.")


class NearestSection(Shape):
    """A section of the book that is close to the question. It may answer it: the refusal may be wrong."""

    title: str
    section: str | None = None
    url: str
    source_file: str
    score: Similarity
    entry: str = Field(description="A `[[questions]]` entry that expects an answer from this section.")

    @classmethod
    def of(cls, hit: Hit, *, entry: str) -> Self:
        where = hit.chunk.locator
        return cls(
            title=where.page_title,
            section=where.section_title,
            url=where.address,
            source_file=where.source_file,
            score=round(hit.score, 4),
            entry=entry,
        )


class QuestionDetailResponse(Shape):
    """A question with its conversation, the nearest sections of the book now, and entries to copy."""

    model_config = examples(
        {
            "question": _QUESTION,
            "lessons": [],
            "transcript": [
                {
                    "role": "user",
                    "text": "How do I calibrate the lidar?",
                    "sent_at": EXAMPLE_TIME,
                    "is_answer": False,
                }
            ],
            "transcript_note": "",
            "nearest": [
                {
                    "title": "Sensors",
                    "section": "Lidar",
                    "url": "https://book.example/sensors#lidar",
                    "source_file": "sensors.md",
                    "score": 0.41,
                    "entry": '[[questions]]\nid = "…"\n',
                }
            ],
            "refusal_entry": '[[questions]]\nid = "…"\n',
        }
    )

    question: AuthorQuestion
    lessons: tuple[str, ...] = Field(description="Titles of the lessons that the answer quotes.")
    transcript: tuple[TranscriptMessage, ...] = Field(description="Oldest first, around the question.")
    transcript_note: str = Field(description="Why there is no transcript; else empty.")
    nearest: tuple[NearestSection, ...] = Field(description="Best first, at most 3.")
    refusal_entry: str = Field(description="A `[[questions]]` entry that expects a refusal.")


class MarkRequest(Shape):
    """Questions to mark, and how. `open` removes a mark."""

    model_config = examples({"book_id": EXAMPLE_BOOK_ID, "answer_ids": [EXAMPLE_ANSWER_ID], "status": "fixed"})

    book_id: Annotated[str, Field(max_length=200)]
    answer_ids: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(min_length=1, max_length=MARKED_MAX)]
    status: MarkStatus


class MarkResponse(Shape):
    """The number of marked questions."""

    model_config = examples({"marked": 1})

    marked: int = Field(ge=0)


class UncitedLesson(Shape):
    """A lesson that no answer quotes."""

    lesson_id: str
    title: str
    url: str = Field(description="Where the lesson is published, or its source file.")

    @classmethod
    def of(cls, record: LessonRecord) -> Self:
        return cls(lesson_id=record.lesson_id, title=record.title, url=record.url or record.source_file)


class CitedLessonsResponse(Shape):
    """How often the answers quote each lesson of the book."""

    model_config = examples(
        {
            "book_id": EXAMPLE_BOOK_ID,
            "days": 30,
            "answers": 12,
            "lessons": 29,
            "cited": [{**_LESSON, "count": 2}],
            "never_cited": [{**_LESSON, "lesson_id": "arms", "title": "Arms"}],
        }
    )

    book_id: str
    days: int = Field(ge=1)
    answers: int = Field(ge=0, description="Number of answers in the period.")
    lessons: int = Field(ge=0, description="Number of lessons of the book.")
    cited: tuple[MostAskedLesson, ...] = Field(description="Most cited first.")
    never_cited: tuple[UncitedLesson, ...] = Field(description="In the order of the book.")

    @classmethod
    def of(
        cls, book: Book, cited: Sequence[AskedLesson], records: Sequence[LessonRecord], *, days: int, answers: int
    ) -> Self:
        ids = {lesson.lesson.lesson_id for lesson in cited}
        return cls(
            book_id=book.id,
            days=days,
            answers=answers,
            lessons=len(records),
            cited=tuple(map(MostAskedLesson.of, cited)),
            never_cited=tuple(UncitedLesson.of(record) for record in records if record.lesson_id not in ids),
        )


class KindFigures(Shape):
    """The questions of one kind, and those with a correct answer or refusal."""

    kind: str
    asked: int = Field(ge=0)
    correct: int = Field(ge=0)


class FailedCheck(Shape):
    """A test question with a wrong answer or refusal."""

    id: str
    reason: str


class ValidationRunReport(Shape):
    """The figures of one `bookwise validate`."""

    ran_at: UtcTime
    engine: str
    own_questions: bool = Field(description="The questions of the book's profile; false: of a file.")
    asked: int = Field(ge=0)
    correct: int = Field(ge=0)
    useful_asked: int = Field(ge=0, description="Questions that name facts.")
    useful: int = Field(ge=0)
    kinds: tuple[KindFigures, ...]
    failed: tuple[FailedCheck, ...]

    @classmethod
    def of(cls, run: ValidationRun) -> Self:
        return cls(
            ran_at=run.ran_at,
            engine=run.engine,
            own_questions=run.own_questions,
            asked=run.asked,
            correct=run.correct,
            useful_asked=run.useful_asked,
            useful=run.useful,
            kinds=tuple(KindFigures(kind=one.kind, asked=one.asked, correct=one.correct) for one in run.kinds),
            failed=tuple(FailedCheck(id=one.id, reason=one.reason) for one in run.failed),
        )


class ValidationsResponse(Shape):
    """The validation runs of a book, newest first."""

    model_config = examples(
        {
            "book_id": EXAMPLE_BOOK_ID,
            "runs": [
                {
                    "ran_at": EXAMPLE_TIME,
                    "engine": "extractive",
                    "own_questions": True,
                    "asked": 85,
                    "correct": 81,
                    "useful_asked": 20,
                    "useful": 17,
                    "kinds": [{"kind": "answerable", "asked": 60, "correct": 57}],
                    "failed": [{"id": "welcome-tilt", "reason": "refused"}],
                }
            ],
        }
    )

    book_id: str
    runs: tuple[ValidationRunReport, ...]
