"""Questions of readers, their outcomes and ratings."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.answers import Level
from bookwise.domain.errors import NotFound

AskedOutcome: TypeAlias = Literal["answered", "refused", "blocked", "interrupted"]
Thumb: TypeAlias = Literal["up", "down"]
Mark: TypeAlias = Literal["fixed", "ignored"]  #: what the author decided about a question

COMMENT_MAX = 2000
KEPT_DAYS = 90  #: at most


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedLesson:
    """A lesson that an answer quotes."""

    lesson_id: str
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question with its outcome and rating."""

    answer_id: str  #: a UUID of version 4; the reader needs it to rate the answer
    book_id: str
    owner: str  #: id of the key that asked
    thread_id: str | None = None  #: None: the conversation was not stored
    asked_at: datetime
    question: str  #: the reader's words
    searched: str | None = None  #: the stand-alone form of a follow-up, or the corrected spelling; None: as asked
    outcome: AskedOutcome
    reason: str = ""  #: why it was refused, blocked or interrupted
    level: Level = "insufficient"
    lessons: tuple[QuotedLesson, ...] = ()
    thumb: Thumb | None = None
    comment: str = ""
    rated_at: datetime | None = None
    mark: Mark | None = None  #: None: open
    marked_at: datetime | None = None

    @property
    def standalone(self) -> str:
        """The question as it is understood without its conversation."""
        return self.searched or self.question


def question_not_found() -> NotFound:
    """The error for a question that does not exist, or whose book the caller may not see."""
    return NotFound("There is no question with this id.", advice="List the questions of the book to see their ids.")
