"""Ask a book's own questions and judge the answers; fit its similarity scale."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from bookwise.domain.answers import EngineName
from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError, NotFound
from bookwise.domain.validation_runs import ValidationRun
from bookwise.evaluation.calibrate import CalibrationRun, calibrate_book, samples_of
from bookwise.evaluation.dataset import questions_of
from bookwise.evaluation.metrics import Evaluation
from bookwise.evaluation.run import evaluate, live_book
from bookwise.evaluation.run_summary import summarize_run
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.retrieval.select_book import select_book
from bookwise.wiring import App, open_answers

PASSES = 3  #: a calibration asks each question for its strength, on the map in use and on the fitted one

logger = logging.getLogger(__name__)

OnProgress = Callable[[int, int], None]
"""(steps done, steps in total)"""


def _ignore(done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateBook:
    """Asks every question, stores the figures and returns the verdicts. `questions` None: those of the book's own
    profile."""

    book: str | None
    questions: tuple[ValidationQuestion, ...] | None
    engine: EngineName | None

    async def run(self, app: App, on_progress: OnProgress = _ignore) -> Evaluation:
        book = await select_book(app.catalog, self.book)
        questions = self.questions or questions_of(book)
        live = await live_book(book.id, index=app.index, catalog=app.catalog)
        advance = _counter(len(questions), on_progress)
        async with open_answers(app.settings, app.search_kit) as kit:
            evaluation = await evaluate(questions, book, kit, live=live, engine=self.engine, on_answer=advance)
        await _store(summarize_run(evaluation, own_questions=self.questions is None), app)
        return evaluation


async def _store(run: ValidationRun, app: App) -> None:
    """Stores the summary for the author. A failure does not take the result away."""
    try:
        await app.validations.add(run)
    except BookwiseError as error:
        logger.warning("validation.not-stored", extra={"code": error.code})


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationResult:
    """A calibration and the book it was made for."""

    book: Book
    calibration: CalibrationRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateBook:
    """Fits the similarity scale to the book; `write` makes the book use it."""

    book: str | None
    questions: tuple[ValidationQuestion, ...] | None
    write: bool

    async def run(self, app: App, on_progress: OnProgress = _ignore) -> CalibrationResult:
        book = await select_book(app.catalog, self.book)
        live = await live_book(book.id, index=app.index, catalog=app.catalog)
        samples = samples_of(self.questions or _own_questions(book), live.chunks.values())
        advance = _counter(PASSES * (len(samples.positives) + len(samples.negatives)), on_progress)
        calibration = await calibrate_book(book, samples, app.search_kit, on_matched=advance)
        if self.write and calibration.fit.calibration:
            await app.catalog.register(replace(book, calibration=calibration.fit.calibration))
        return CalibrationResult(book=book, calibration=calibration)


def _own_questions(book: Book) -> tuple[ValidationQuestion, ...]:
    try:
        return questions_of(book)
    except NotFound:  # a book without questions is calibrated on its headings
        return ()


def _counter(total: int, on_progress: OnProgress) -> Callable[[object], None]:
    done = 0

    def advance(_: object) -> None:
        nonlocal done
        done += 1
        on_progress(done, total)

    on_progress(0, total)
    return advance
