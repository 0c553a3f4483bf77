"""The results of one run of a book's test questions, as they are stored."""

from dataclasses import dataclass
from datetime import datetime

FAILED_MAX = 100  #: failed questions stored with a run


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """The questions of one kind, and those with a correct answer or refusal."""

    kind: str
    asked: int
    correct: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedQuestion:
    """A test question with a wrong answer or refusal."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRun:
    """The figures of one run, without the answers."""

    run_id: str  #: a UUID, so that runs of two databases never collide
    book_id: str
    ran_at: datetime
    engine: str
    own_questions: bool  #: those in the book's own profile; False: from a file, so not comparable with other runs
    asked: int
    correct: int
    useful_asked: int = 0  #: questions that name facts
    useful: int = 0
    kinds: tuple[KindCount, ...] = ()
    failed: tuple[FailedQuestion, ...] = ()  #: at most `FAILED_MAX`
