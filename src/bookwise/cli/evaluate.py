"""`validate`, `calibrate`: how well a book is served, and its own scale of similarity."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from bookwise.cli.exit_codes import OK, SOME_FAILED
from bookwise.cli.output import BookOption, JsonFlag, console, print_json, printable, with_app
from bookwise.domain.answers import EngineName
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.evaluation.calibrate import CalibrationRun, Shares, calibrated, samples_of, toml_of
from bookwise.evaluation.dataset import questions_of
from bookwise.evaluation.json_report import calibration_json, evaluation_json
from bookwise.evaluation.metrics import Evaluation
from bookwise.evaluation.run import evaluated, live_book
from bookwise.ingestion.discovery.profile import PROFILE_FILE, ValidationQuestion
from bookwise.retrieval.select_book import select_book
from bookwise.wiring import App, open_answers

PASSES = 3  #: a calibration asks each question for its strength, on the map in use and on the fitted one

QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help=f"Questions as .toml, .json or .jsonl, not from {PROFILE_FILE}."),
]
Advance = Callable[[object], None]


def add_to(app: typer.Typer) -> None:
    app.command()(validate)
    app.command()(calibrate)


def validate(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    book: BookOption = None,
    questions: QuestionsOption = None,
    minimum: Annotated[float, typer.Option("--min", min=0.0, max=1.0, help="Least share of right verdicts.")] = 0.8,
    engine: Annotated[str | None, typer.Option(help=f"One of {', '.join(get_args(EngineName))}.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="REPORT", help="Write a report that a browser shows.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the book's own questions and judge the answers. Ends with 1 below the bar."""
    if engine is not None and engine not in get_args(EngineName):
        raise InvalidInput(f"--engine is {engine!r}; allowed: {', '.join(get_args(EngineName))}.")

    async def run(app: App) -> Evaluation:
        found = await select_book(app.catalog, book)
        asked = questions_of(found, questions)
        live = await live_book(found.id, index=app.index, catalog=app.catalog)
        async with open_answers(app.settings, app.search_kit) as kit:
            with _progress("Asking the book", len(asked), shown=not as_json) as advance:
                chosen = cast(EngineName | None, engine)
                return await evaluated(asked, found, kit, live=live, engine=chosen, on_answer=advance)

    done = with_app(ctx, run)
    if as_json:
        print_json(evaluation_json(done, minimum=minimum))
    else:
        _show(done, minimum)
    if html is not None:
        _write_report(html, done, minimum)
    raise typer.Exit(OK if done.accuracy >= minimum else SOME_FAILED)


def calibrate(
    ctx: typer.Context,
    book: BookOption = None,
    questions: QuestionsOption = None,
    write: Annotated[bool, typer.Option("--write", help="Use the fitted map for this book from now on.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Fit the scale of similarity to the book: answer what it answers, refuse what it does not."""

    async def run(app: App) -> tuple[Book, CalibrationRun]:
        found = await select_book(app.catalog, book)
        live = await live_book(found.id, index=app.index, catalog=app.catalog)
        samples = samples_of(_own_questions(found, questions), live.chunks.values())
        total = PASSES * (len(samples.positives) + len(samples.negatives))
        with _progress("Matching questions", total, shown=not as_json) as advance:
            done = await calibrated(found, samples, app.search_kit, on_matched=advance)
        if write and done.fit.calibration:
            await app.catalog.register(replace(found, calibration=done.fit.calibration))
        return found, done

    found, done = with_app(ctx, run)
    written = write and done.fit.calibration is not None
    if as_json:
        print_json(calibration_json(found.id, done, written=written))
    else:
        _show_calibration(found, done, written=written)
    raise typer.Exit(OK if done.fit.calibration else SOME_FAILED)


def _own_questions(book: Book, file: Path | None) -> tuple[ValidationQuestion, ...]:
    """The questions to fit on; a book may have none, a file that was named may not."""
    try:
        return questions_of(book, file)
    except NotFound:
        if file is not None:
            raise
        return ()


def _write_report(file: Path, run: Evaluation, minimum: float) -> None:
    from bookwise.evaluation.report import report_html

    try:
        file.write_text(report_html(run, minimum=minimum), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"The report cannot be written to {file}: {error.strerror or error}.") from error


def _show(run: Evaluation, minimum: float) -> None:
    from rich.table import Table

    table = Table("Kind", "Asked", "Right", "Share")
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
        f"{run.accuracy:.1%} right: {verdict} the bar of {minimum:.1%}.", style="green" if passed else "red"
    )


def _figures(run: Evaluation) -> Iterator[str]:
    yield f"{run.title} ({run.book_id}), engine {run.engine}, median {run.median_ms:.0f} ms"
    yield f"Citations that lead to what they say: {run.citations.right} of {run.citations.asked}"
    if run.sections.asked:
        yield f"Answers that cite the expected section: {run.sections.right} of {run.sections.asked}"
    if run.grounding is not None:
        yield f"Sentences that the passages carry: {run.grounding:.1%}"
    if run.area_under_roc is not None:
        yield f"Area under ROC, answerable against off-topic: {run.area_under_roc:.3f}"


def _show_calibration(book: Book, run: CalibrationRun, *, written: bool) -> None:
    for line in _calibration_lines(run):
        console().print(printable(line), markup=False)
    if run.before:
        _show_shares(run.before, run.after)
    if run.fit.calibration is None:
        console().print(f"{run.fit.reason} The map in use stays.", markup=False)
        return
    console().print("\n" + toml_of(run.fit.calibration, book.embedder_name) + "\n", markup=False)
    if written:
        console().print(f"Written: book {book.id} uses this map from now on.", markup=False)
    else:
        console().print("Run again with --write to use this map.", markup=False)
    console().print(
        f"To keep it with the book, paste the table into {PROFILE_FILE}: what stands there wins at every ingest, "
        "and a written map is lost when the book is indexed with another embedder.",
        markup=False,
    )


def _calibration_lines(run: CalibrationRun) -> Iterator[str]:
    samples = run.samples
    made = "made out of its headings" if samples.from_headings else "of its own"
    yield f"{len(samples.positives)} questions the book answers, {made}."
    origin = "about other things" if samples.foreign else "of its own"
    yield f"{len(samples.negatives)} questions it does not answer, {origin}."
    if run.dropped:
        yield f"Left out, for the book seems to know: {'; '.join(run.dropped)}"
    if run.fit.area is not None:
        yield f"Area under ROC: {run.fit.area:.3f}"


def _show_shares(before: Shares, after: Shares | None) -> None:
    from rich.table import Table

    table = Table("Map", "Answered of what the book answers", "Refused of the rest")
    table.add_row("in use", f"{before.answered:.1%}", f"{before.refused:.1%}")
    if after:
        table.add_row("fitted", f"{after.answered:.1%}", f"{after.refused:.1%}")
    console().print(table)


def _progress(title: str, total: int, *, shown: bool) -> AbstractContextManager[Advance]:
    return _bar(title, total) if shown and sys.stderr.isatty() else _silence()


@contextmanager
def _silence() -> Iterator[Advance]:
    yield lambda done: None


@contextmanager
def _bar(title: str, total: int) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.advance(task)
