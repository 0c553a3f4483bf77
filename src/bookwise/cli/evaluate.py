"""`validate` and `calibrate`: measure the answers of a book, and fit its similarity scale."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bookwise.cli.exit_codes import OK, SOME_FAILED
from bookwise.cli.output import BookOption, JsonFlag, console, execute, print_json, printable
from bookwise.domain.answers import EngineName
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput
from bookwise.evaluation.calibrate import CalibrationRun, Shares, toml_of
from bookwise.evaluation.dataset import questions_from
from bookwise.evaluation.json_report import calibration_json, evaluation_json
from bookwise.evaluation.metrics import Evaluation
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
    engine: Annotated[EngineName | None, typer.Option(help="Answer engine (default: the configured one).")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an HTML report to this file.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the book's test questions and check the answers.

    Exits with 1 when the share of correct answers and refusals is below --min.
    """
    requested = ValidateBook(book=book, questions=questions_from(questions) if questions else None, engine=engine)
    with _progress("Asking the book", visible=not as_json) as show:
        evaluation = execute(ctx, requested, partial(requested.run, on_progress=show))
    if as_json:
        print_json(evaluation_json(evaluation, minimum=minimum))
    else:
        _show(evaluation, minimum)
    if html is not None:
        _write_report(html, evaluation, minimum)
    raise typer.Exit(OK if evaluation.accuracy >= minimum else SOME_FAILED)


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
    with _progress("Matching questions", visible=not as_json) as show:
        result = execute(ctx, requested, partial(requested.run, on_progress=show))
    fit = result.calibration.fit
    written = write and fit.calibration is not None
    if as_json:
        print_json(calibration_json(result.book.id, result.calibration, written=written))
    else:
        _show_calibration(result.book, result.calibration, written=written)
    raise typer.Exit(OK if fit.calibration else SOME_FAILED)


def _write_report(file: Path, run: Evaluation, minimum: float) -> None:
    from bookwise.evaluation.report import report_html

    try:
        file.write_text(report_html(run, minimum=minimum), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"The report cannot be written to {file}: {error.strerror or error}.",
            advice="Name a file in a folder that exists and that you may write to.",
        ) from error


def _show(run: Evaluation, minimum: float) -> None:
    from rich.table import Table  # loads rich: 0.05 s

    table = Table("Kind", "Asked", "Correct", "Share")
    for tally in (*run.kinds, run.total):
        table.add_row(tally.name, str(tally.asked), str(tally.right), f"{tally.share:.1%}")
    console().print(table)
    for line in _figures(run):
        console().print(printable(line), markup=False)
    for miss in run.misses:
        line = f"✗ {miss.question.id} ({miss.question.kind}, similarity {miss.similarity:.2f}): {miss.why}"
        console().print(printable(line).replace("\n", " "), markup=False)
    passed = run.accuracy >= minimum
    verdict = "at or above" if passed else "below"
    console().print(
        f"{run.accuracy:.1%} correct: {verdict} the required {minimum:.1%}.", style="green" if passed else "red"
    )


def _figures(run: Evaluation) -> Iterator[str]:
    yield f"{run.title} ({run.book_id}), engine {run.engine}, median {run.median_ms:.0f} ms"
    yield f"Citations that resolve: {run.citations.right} of {run.citations.asked}"
    if run.sections.asked:
        yield f"Answers that cite the expected section: {run.sections.right} of {run.sections.asked}"
    if run.grounding is not None:
        yield f"Sentences supported by their passages: {run.grounding:.1%}"
    if run.area_under_roc is not None:
        yield f"Area under ROC, answerable versus off-topic: {run.area_under_roc:.3f}"


def _show_calibration(book: Book, run: CalibrationRun, *, written: bool) -> None:
    for line in _calibration_lines(run):
        console().print(printable(line), markup=False)
    if run.before:
        _show_shares(run.before, run.after)
    if run.fit.calibration is None:
        console().print(f"{run.fit.reason} The current map stays in use.", markup=False)
        return
    console().print("\n" + toml_of(run.fit.calibration, book.embedder_name) + "\n", markup=False)
    if written:
        console().print(f"Saved: book {book.id} now uses this map.", markup=False)
    else:
        console().print("Run again with --write to use this map.", markup=False)
    console().print(
        f"To keep the map with the book, paste the table into {PROFILE_FILE}. A map in that file takes precedence at "
        "every ingest. A map saved with --write is lost when the book is indexed with another embedder.",
        markup=False,
    )


def _calibration_lines(run: CalibrationRun) -> Iterator[str]:
    samples = run.samples
    positives = "built from its headings" if samples.from_headings else "from its own question list"
    yield f"{len(samples.positives)} questions the book answers, {positives}."
    negatives = "about unrelated topics" if samples.foreign else "from its own question list"
    yield f"{len(samples.negatives)} questions the book does not answer, {negatives}."
    if run.dropped:
        yield f"Left out, because the book seems to answer them: {'; '.join(run.dropped)}"
    if run.fit.area is not None:
        yield f"Area under ROC: {run.fit.area:.3f}"


def _show_shares(before: Shares, after: Shares | None) -> None:
    from rich.table import Table  # loads rich: 0.05 s

    table = Table("Map", "Answerable questions answered", "Other questions refused")
    table.add_row("current", f"{before.answered:.1%}", f"{before.refused:.1%}")
    if after:
        table.add_row("fitted", f"{after.answered:.1%}", f"{after.refused:.1%}")
    console().print(table)


def _progress(title: str, *, visible: bool) -> AbstractContextManager[OnProgress]:
    return _bar(title) if visible and sys.stderr.isatty() else _no_bar()


@contextmanager
def _no_bar() -> Iterator[OnProgress]:
    yield lambda done, total: None


@contextmanager
def _bar(title: str) -> Iterator[OnProgress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )  # loads rich: 0.05 s

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
