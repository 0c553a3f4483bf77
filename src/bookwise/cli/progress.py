"""Progress bars on stderr. Loads rich."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bookwise.cli.output import console, printable
from bookwise.domain.jobs import LessonOutcome


@contextmanager
def lesson_bar(total: int) -> Iterator[Callable[[LessonOutcome], None]]:
    """Shows the ingestion of a book, lesson by lesson."""
    columns = (
        TextColumn("[bold]Reading the book"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)

        def show(outcome: LessonOutcome) -> None:
            is_file = outcome.status != "withdrawn"
            progress.update(
                task, advance=is_file, description=escape(printable(outcome.source_file.rsplit("/", 1)[-1]))
            )

        yield show


@contextmanager
def question_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how many questions are done, and of how many."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
