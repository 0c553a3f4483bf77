"""`validate` and `calibrate`: measure the answers of a book, and fit its similarity scale."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer

from bookwise.cli.evaluation_view import TextView
from bookwise.cli.exit_codes import OK, SOME_FAILED
from bookwise.cli.output import BookOption, JsonFlag, execute, print_json
from bookwise.domain.answers import EngineName
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput
from bookwise.evaluation.calibrate import CalibrationRun
from bookwise.evaluation.dataset import questions_from
from bookwise.evaluation.json_report import calibration_json, evaluation_json
from bookwise.evaluation.metrics import Evaluation, Minimum
from bookwise.evaluation.report import report_html
from bookwise.ingestion.discovery.profile import PROFILE_FILE
from bookwise.operations.evaluate import CalibrateBook, OnProgress, ValidateBook

QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions", metavar="FILE", help=f"Questions in a .toml, .json or .jsonl file (default: {PROFILE_FILE})."
    ),
]


def add_to(app: typer.Typer) -> None:
    app.command()(validate)
    app.command()(calibrate)


def validate(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    book: BookOption = None,
    questions: QuestionsOption = None,
    minimum: Annotated[
        float, typer.Option("--min", min=0.0, max=1.0, help="Required share of correct answers and refusals.")
    ] = 0.8,
    min_useful: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Required share of useful answers to questions with contains."),
    ] = None,
    engine: Annotated[EngineName | None, typer.Option(help="Answer engine (default: the configured one).")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an HTML report to this file.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the book's test questions and check the answers.

    Exits with 1 when the share of correct answers and refusals is below --min, or the share of useful answers below
    --min-useful.
    """
    requested = ValidateBook(book=book, questions=questions_from(questions) if questions else None, engine=engine)
    view = _view(as_json=as_json)
    with view.progress("Asking the book") as show:
        evaluation = execute(ctx, requested, partial(requested.run, on_progress=show))
    required = Minimum(correct=minimum, useful=_checked_min_useful(min_useful, evaluation))
    view.show_evaluation(evaluation, required)
    if html is not None:
        _write_report(html, evaluation, required)
    raise typer.Exit(OK if required.met_by(evaluation) else SOME_FAILED)


def calibrate(
    ctx: typer.Context,
    book: BookOption = None,
    questions: QuestionsOption = None,
    write: Annotated[bool, typer.Option("--write", help="Use the fitted map for this book from now on.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Fit the similarity scale to the book. It then answers more and refuses better.

    Exits with 1 when the questions do not allow a better fit.
    """
    requested = CalibrateBook(book=book, questions=questions_from(questions) if questions else None, write=write)
    view = _view(as_json=as_json)
    with view.progress("Matching questions") as show:
        result = execute(ctx, requested, partial(requested.run, on_progress=show))
    fit = result.calibration.fit
    view.show_calibration(result.book, result.calibration, written=write and fit.calibration is not None)
    raise typer.Exit(OK if fit.calibration else SOME_FAILED)


class EvaluationView(Protocol):
    """Where the results are shown."""

    def progress(self, title: str) -> AbstractContextManager[OnProgress]: ...

    def show_evaluation(self, run: Evaluation, minimum: Minimum) -> None: ...

    def show_calibration(self, book: Book, run: CalibrationRun, *, written: bool) -> None: ...


class JsonView:
    """One JSON document."""

    def progress(self, title: str) -> AbstractContextManager[OnProgress]:
        return nullcontext(lambda done, total: None)

    def show_evaluation(self, run: Evaluation, minimum: Minimum) -> None:
        print_json(evaluation_json(run, minimum=minimum))

    def show_calibration(self, book: Book, run: CalibrationRun, *, written: bool) -> None:
        print_json(calibration_json(book.id, run, written=written))


def _view(*, as_json: bool) -> EvaluationView:
    return JsonView() if as_json else TextView()


def _checked_min_useful(min_useful: float | None, run: Evaluation) -> float | None:
    if min_useful is not None and not run.usefulness.asked:
        raise InvalidInput(
            "--min-useful cannot be checked: no question has contains.",
            advice='Add contains = ["a fact", …] to a question, or leave out --min-useful.',
        )
    return min_useful


def _write_report(file: Path, run: Evaluation, minimum: Minimum) -> None:
    try:
        file.write_text(report_html(run, minimum=minimum), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"The report cannot be written to {file}: {error.strerror or error}.",
            advice="Name a file in a folder that exists and that you may write to.",
        ) from error
