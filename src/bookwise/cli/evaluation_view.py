"""The results of `validate` and `calibrate` as text. Loads rich."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from rich.table import Table

from bookwise.cli.output import console, printable
from bookwise.cli.progress import question_bar
from bookwise.domain.books import Book
from bookwise.evaluation.calibrate import CalibrationRun, Shares, toml_of
from bookwise.evaluation.metrics import Evaluation, Minimum
from bookwise.ingestion.discovery.profile import PROFILE_FILE
from bookwise.operations.evaluate import OnProgress
from bookwise.text.plurals import plural


class TextView:
    """Tables and lines for people. Progress is shown on a terminal only."""

    def progress(self, title: str) -> AbstractContextManager[OnProgress]:
        return question_bar(title) if sys.stderr.isatty() else nullcontext(lambda done, total: None)

    def show_evaluation(self, run: Evaluation, minimum: Minimum) -> None:
        table = Table("Kind", "Asked", "Correct", "Share")
        for tally in (*run.kinds, run.total):
            table.add_row(tally.name, str(tally.asked), str(tally.right), f"{tally.share:.1%}")
        console().print(table)
        for line in _figures(run):
            _print_line(line)
        for miss in run.misses:
            _print_line(f"✗ {miss.question.id} ({miss.question.kind}, similarity {miss.similarity:.2f}): {miss.why}")
        if run.usefulness.asked:
            _show_usefulness(run)
        _show_share(run.accuracy, "correct", minimum.correct, met=minimum.correct_met_by(run))
        if minimum.useful is not None:
            _show_share(run.usefulness.useful_share, "useful", minimum.useful, met=minimum.useful_met_by(run))

    def show_calibration(self, book: Book, run: CalibrationRun, *, written: bool) -> None:
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
            f"To keep the map with the book, paste the table into {PROFILE_FILE}. A map in that file takes precedence "
            "at every ingest. A map saved with --write is lost when the book is indexed with another embedder.",
            markup=False,
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


def _show_usefulness(run: Evaluation) -> None:
    """The questions that name facts: figures by type, and the answers that lack too many of them."""
    table = Table("Type", "Asked", "Useful", "Share", "Complete", "Share")
    for tally in (*run.types, run.usefulness):
        useful = (str(tally.useful), f"{tally.useful_share:.1%}")
        table.add_row(tally.name, str(tally.asked), *useful, str(tally.complete), f"{tally.complete_share:.1%}")
    console().print(table)
    if run.high.asked:
        _print_line(f"Answers with confidence high that are useful: {run.high.right} of {run.high.asked}")
    for verdict in run.not_useful:
        _print_line(f"○ {verdict.question.id} is not useful: {verdict.why_not_useful}")


def _show_share(share: float, name: str, minimum: float, *, met: bool) -> None:
    verdict = "at or above" if met else "below"
    console().print(f"{share:.1%} {name}: {verdict} the required {minimum:.1%}.", style="green" if met else "red")


def _print_line(line: str) -> None:
    console().print(printable(line).replace("\n", " "), markup=False)


def _calibration_lines(run: CalibrationRun) -> Iterator[str]:
    samples = run.samples
    positives = "built from its headings" if samples.from_headings else "from its own question list"
    yield f"{plural(len(samples.positives), 'question')} the book answers, {positives}."
    negatives = "about unrelated topics" if samples.foreign else "from its own question list"
    yield f"{plural(len(samples.negatives), 'question')} the book does not answer, {negatives}."
    if run.dropped:
        yield f"Left out, because the book seems to answer them: {'; '.join(run.dropped)}"
    if run.fit.area is not None:
        yield f"Area under ROC: {run.fit.area:.3f}"


def _show_shares(before: Shares, after: Shares | None) -> None:
    table = Table("Map", "Answerable questions answered", "Other questions refused")
    table.add_row("current", f"{before.answered:.1%}", f"{before.refused:.1%}")
    if after:
        table.add_row("fitted", f"{after.answered:.1%}", f"{after.refused:.1%}")
    console().print(table)
