"""An evaluation → its figures, as they are stored for the author."""

from datetime import UTC, datetime
from uuid import uuid4

from bookwise.domain.validation_runs import FAILED_MAX, FailedQuestion, KindCount, ValidationRun
from bookwise.evaluation.metrics import Evaluation


def summarize_run(evaluation: Evaluation, *, own_questions: bool) -> ValidationRun:
    """The figures of the evaluation, without the answers."""
    total, usefulness = evaluation.total, evaluation.usefulness
    failed = [FailedQuestion(id=one.question.id, reason=one.why) for one in evaluation.misses]
    return ValidationRun(
        run_id=str(uuid4()),
        book_id=evaluation.book_id,
        ran_at=datetime.now(UTC),
        engine=evaluation.engine,
        own_questions=own_questions,
        asked=total.asked,
        correct=total.right,
        useful_asked=usefulness.asked,
        useful=usefulness.useful,
        kinds=tuple(KindCount(kind=tally.name, asked=tally.asked, correct=tally.right) for tally in evaluation.kinds),
        failed=tuple(failed[:FAILED_MAX]),
    )
