"""`move`: copies the index or the database from the data folder to a server, or back."""

from dataclasses import asdict
from typing import Annotated

import anyio
import typer

from bookwise.cli.output import JsonFlag, console, print_json, printable, progress_bar, settings_of
from bookwise.domain.errors import InvalidInput
from bookwise.operations.move import MOVE_TARGETS, MoveReport, MoveRequest
from bookwise.operations.move import move as run_move
from bookwise.text.plurals import plural


def add_to(app: typer.Typer) -> None:
    app.command()(move)


def move(
    ctx: typer.Context,
    to: Annotated[
        str,
        typer.Option(
            metavar="TARGET",
            help="qdrant or embedded: the index. postgres or sqlite: books, threads, jobs, keys and questions.",
        ),
    ],
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of the server (default: QDRANT_URL or DATABASE_URL)."),
    ] = None,
    book: Annotated[
        str | None, typer.Option("--book", metavar="ID", help="Only this book (default: everything).")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what the target index holds of these books.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Copy the index or the database to a server, or back.

    Stop all services first. Every chunk or row is compared, and the source is not changed. After an interruption, run
    the command again: it continues. At the end it shows which settings to change.
    """
    if to not in MOVE_TARGETS:
        raise InvalidInput(f"--to is {to!r}.", advice=f"Use one of: {', '.join(MOVE_TARGETS)}.")
    if replace and to in ("postgres", "sqlite"):
        raise InvalidInput("--replace works for an index only.", advice="Use an empty database as the target.")
    request = MoveRequest(to=to, url=url, book_id=book, replace=replace)
    with progress_bar("Moving", visible=not as_json) as on_progress:
        report = anyio.run(run_move, request, settings_of(ctx), on_progress)
    if as_json:
        print_json(asdict(report))
    else:
        _show(report)


def _show(report: MoveReport) -> None:
    out = console()
    for copy in report.books:
        size = f"{plural(copy.lessons, 'lesson')}, {plural(copy.chunks, 'chunk')}"
        out.print(printable(f"{copy.book_id}: {size}, {copy.written} written, all compared."), markup=False)
    for book_id in report.skipped:
        out.print(printable(f"{book_id}: no lessons in the source, nothing copied."), markup=False)
    for table in report.tables:
        out.print(f"{table.name}: {table.rows} rows, {table.written} written, all compared.", markup=False)
    out.print(printable(f"The data is now in {report.target}. It is still in {report.source}, too."), markup=False)
    for line in report.to_do:
        out.print(line, markup=False)
