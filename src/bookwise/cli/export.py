"""`export`: what readers asked and said, as JSON lines."""

import json
import os
import sys
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any

import anyio
import typer

from bookwise.cli.output import settings_of
from bookwise.domain.errors import Conflict, InvalidInput
from bookwise.operations.export import EXPORT_KINDS
from bookwise.operations.export import export as records
from bookwise.settings import Settings


def add_to(app: typer.Typer) -> None:
    app.command()(export)


def export(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="threads, questions or feedback.")],
    book: Annotated[str | None, typer.Option("--book", metavar="ID", help="Only this book (default: all).")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this new file, not to stdout.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Has no effect: the output is always JSON lines.")] = False,
) -> None:
    """Write threads, questions or ratings as JSON lines.

    One record per line. Works while a service uses the data folder.
    """
    if kind not in EXPORT_KINDS:
        raise InvalidInput(f"There is nothing to export as {kind!r}.", advice=f"Use one of: {', '.join(EXPORT_KINDS)}.")
    settings = settings_of(ctx)
    if output is None:
        anyio.run(_write_lines, kind, settings, book, sys.stdout)
        return
    with _new_file(output.expanduser()) as file:
        count = anyio.run(_write_lines, kind, settings, book, file)
    sys.stderr.write(f"{count} {kind} written to {output}.\n")


def _new_file(path: Path) -> IO[str]:
    """A file that only this user can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise Conflict(f"The file {path} exists.", advice="Name another file.") from None
    return os.fdopen(handle, "w", encoding="utf-8")


async def _write_lines(kind: Any, settings: Settings, book: str | None, file: IO[str]) -> int:
    count = 0
    async with aclosing(records(kind, settings, book_id=book)) as exported:
        async for record in exported:
            file.write(json.dumps(record, default=_plain) + "\n")
            count += 1
    return count


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
