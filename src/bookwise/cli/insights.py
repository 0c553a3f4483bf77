"""`insights`: what readers asked, for the author in the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bookwise.cli.output import BookOption, JsonFlag, console, execute, print_json, printable
from bookwise.domain.journal import KEPT_DAYS

if TYPE_CHECKING:
    from bookwise.schemas.insights import DayFigures, InsightsResponse, QuestionGroup

SHOWN = 10  #: groups, lessons, answers that readers disliked
LINE = 160  #: characters of a question
BARS = "▁▂▃▄▅▆▇█"
NOBODY = "·"


def add_to(app: typer.Typer) -> None:
    app.command()(insights)


def insights(
    ctx: typer.Context,
    book: BookOption = None,
    days: Annotated[int, typer.Option(min=1, max=KEPT_DAYS, help="So many days up to now, today included.")] = 30,
    as_json: JsonFlag = False,
) -> None:
    """Show what readers of the service asked: what the book does not answer first, then its most asked lessons.

    What you ask on the command line yourself is not counted.
    """
    from bookwise.operations.insights import ReadInsights

    found = execute(ctx, ReadInsights(book=book, days=days))
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif found.totals.asked:
        _show(found)
    else:
        _say(f"Nobody has asked “{_line(found.title)}” anything {_period(days)}.")
        _say("Questions are counted when readers ask the service (bookwise serve), not on the command line.")


def _show(found: "InsightsResponse") -> None:
    totals = found.totals
    became = ("answered", "refused", "blocked", "interrupted")
    counts = [f"{count} {name}" for name in became if (count := getattr(totals, name))]
    _head(f"What readers asked “{_line(found.title)}” {_period(found.days)}")
    _say(f"{_counted(totals.asked, 'question')}: {', '.join(counts)}")
    if found.truncated:
        _say("More was asked than is read at once: the oldest questions are left out.")
    _show_groups("Not in the book", found.unanswered)
    _show_groups("Answered, but with low confidence", found.low_confidence)
    _show_lessons(found)
    _show_ratings(found)
    _show_days(found.by_day)


def _show_groups(title: str, groups: Sequence["QuestionGroup"]) -> None:
    if groups:
        _head(f"\n{title}")
    for group in groups[:SHOWN]:
        _say(f"{group.count:>4} × {_line(group.name)}, last asked {group.last_asked:%Y-%m-%d}")
        for question in group.examples:
            _say(f"       - {_line(question)}")
    if len(groups) > SHOWN:
        _say("       and more: --json tells them")


def _show_lessons(found: "InsightsResponse") -> None:
    if found.lessons:
        _head("\nMost asked lessons")
    for lesson in found.lessons[:SHOWN]:
        _say(f"{lesson.count:>4} × {_line(lesson.title)}  {_line(lesson.url)}")


def _show_ratings(found: "InsightsResponse") -> None:
    ratings = found.ratings
    if ratings.share_up is None:
        return
    _head(f"\nRatings: {ratings.up} up, {ratings.down} down ({ratings.share_up:.0%} up)")
    for disliked in found.disliked[:SHOWN]:
        _say(f"       - {_line(disliked.question) or '(question not kept)'}")
        if disliked.comment:
            _say(f"         “{_line(disliked.comment)}”")


def _show_days(days: Sequence["DayFigures"]) -> None:
    highest = max(day.refusal_rate for day in days)
    _head("\nRefused, day by day")
    _say(f"{days[0].date} {_sparkline(days)} {days[-1].date}")
    _say(f"A full bar is a day on which everything was refused; {NOBODY} nobody asked; the highest is {highest:.0%}.")


def _sparkline(days: Sequence["DayFigures"]) -> str:
    top = len(BARS) - 1
    return "".join(BARS[round(day.refusal_rate * top)] if day.asked else NOBODY for day in days)


def _head(line: str) -> None:
    console().print(line, style="bold", markup=False)


def _say(line: str) -> None:
    console().print(line, markup=False)


def _line(text: str) -> str:
    """Text of a reader or a book, on one line that a terminal can show."""
    from bookwise.schemas.wire import shortened

    return shortened(printable(" ".join(text.split())), LINE)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _period(days: int) -> str:
    return "today" if days == 1 else f"in the last {days} days"
