"""`insights`: the questions readers asked the service."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bookwise.cli.output import BookOption, JsonFlag, console, execute_on_records, print_json, printable
from bookwise.domain.journal import KEPT_DAYS
from bookwise.text.plurals import plural
from bookwise.text.shorten import shortened

if TYPE_CHECKING:
    from bookwise.schemas.insights import DayFigures, InsightsResponse, QuestionGroup

ITEMS_MAX = 10  #: groups, lessons and disliked answers shown
LINE_MAX = 160  #: characters of a question
BARS = "▁▂▃▄▅▆▇█"
NO_QUESTIONS = "·"


def add_to(app: typer.Typer) -> None:
    app.command()(insights)


def insights(
    ctx: typer.Context,
    book: BookOption = None,
    days: Annotated[
        int, typer.Option(min=1, max=KEPT_DAYS, help="Number of days to include, counting today (UTC).")
    ] = 30,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every question as CSV to stdout.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what readers asked the service. Unanswered questions come first.

    Questions on the command line are not counted.
    """
    from bookwise.operations.insights import ExportQuestions, ReadInsights  # loads pydantic models: 0.2 s

    if as_csv:
        typer.echo(execute_on_records(ctx, ExportQuestions(book=book, days=days)), nl=False)
        return
    report = execute_on_records(ctx, ReadInsights(book=book, days=days))
    if as_json:
        print_json(report.model_dump(mode="json"))
    elif report.totals.asked:
        _show(report)
    else:
        _write(f"No questions about “{_line(report.title)}” {_period(days)}.")
        _write("Only questions to the service (`bookwise serve`) are counted, not those on the command line.")


def _show(report: "InsightsResponse") -> None:
    totals = report.totals
    outcomes = ("answered", "refused", "blocked", "interrupted")
    counts = [f"{count} {name}" for name in outcomes if (count := getattr(totals, name))]
    _write_heading(f"Questions about “{_line(report.title)}” {_period(report.days)}")
    _write(f"{plural(totals.asked, 'question')}: {', '.join(counts)}")
    if report.truncated:
        _write("There are too many questions to read at once; the oldest are left out. Use a smaller --days.")
    _show_groups("Without an answer (the book may still cover some of it)", report.unanswered)
    _show_groups("Answered with low confidence", report.low_confidence)
    _show_lessons(report)
    _show_ratings(report)
    _show_days(report.by_day)


def _show_groups(title: str, groups: Sequence["QuestionGroup"]) -> None:
    if groups:
        _write_heading(f"\n{title}")
    for group in groups[:ITEMS_MAX]:
        _write(f"{group.count:>4} × {_line(group.name)}, last asked {group.last_asked:%Y-%m-%d}")
        for question in group.examples:
            _write(f"       - {_line(question)}")
    if len(groups) > ITEMS_MAX:
        _write("       and more; --json shows all of them")


def _show_lessons(report: "InsightsResponse") -> None:
    if report.lessons:
        _write_heading("\nMost requested lessons")
    for lesson in report.lessons[:ITEMS_MAX]:
        _write(f"{lesson.count:>4} × {_line(lesson.title)}  {_line(lesson.url)}")


def _show_ratings(report: "InsightsResponse") -> None:
    ratings = report.ratings
    if ratings.share_up is None:
        return
    _write_heading(f"\nRatings: {ratings.up} up, {ratings.down} down ({ratings.share_up:.0%} up)")
    for disliked in report.disliked[:ITEMS_MAX]:
        _write(f"       - {_line(disliked.question) or '(question not stored)'}")
        if disliked.comment:
            _write(f"         “{_line(disliked.comment)}”")


def _show_days(days: Sequence["DayFigures"]) -> None:
    highest = max(day.refusal_rate for day in days)
    _write_heading("\nRefused questions per day")
    _write(f"{days[0].date} {_sparkline(days)} {days[-1].date}")
    _write(
        f"A full bar means that every question was refused; {NO_QUESTIONS} means no questions. Highest: {highest:.0%}."
    )


def _sparkline(days: Sequence["DayFigures"]) -> str:
    top = len(BARS) - 1
    return "".join(BARS[round(day.refusal_rate * top)] if day.asked else NO_QUESTIONS for day in days)


def _write_heading(line: str) -> None:
    console().print(line, style="bold", markup=False)


def _write(line: str) -> None:
    console().print(line, markup=False)


def _line(text: str) -> str:
    """Text from a reader or a book, as one printable line."""
    return shortened(printable(" ".join(text.split())), LINE_MAX)


def _period(days: int) -> str:
    return "today" if days == 1 else f"in the last {days} days"
