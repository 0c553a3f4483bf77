"""`backup` and `restore`: the data folder in one file, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from bookwise.cli.output import JsonFlag, console, execute, print_json, printable, progress_bar, settings_of
from bookwise.operations.backup import BackUpData, BackupReport, back_up
from bookwise.operations.backup import restore as run_restore
from bookwise.text.plurals import plural
from bookwise.wiring import App


def add_to(app: typer.Typer) -> None:
    app.command()(backup)
    app.command()(restore)


def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, for example bookwise.zip.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the data folder to one file.

    The file contains all books, threads, keys and questions; only its owner can read it. Works while a service uses the
    folder: readers notice nothing, an ingest waits.
    """
    target = file.expanduser().absolute()
    with progress_bar("Backing up", visible=not as_json) as on_progress:

        async def run(app: App) -> BackupReport:
            return await back_up(target, app, on_progress)

        report = execute(ctx, BackUpData(file=target), run)
    if as_json:
        print_json(_plain(asdict(report)))
        return
    _write(f"{report.file}: {_contents(report)}, {report.archive_bytes / 1e6:,.1f} MB.")
    _write("Restore it with `bookwise --data-dir NEW-FOLDER restore FILE`.")


def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `bookwise backup` has written.")],
    as_json: JsonFlag = False,
) -> None:
    """Restore a backup to a new data folder.

    The data folder must not exist or be empty: nothing is replaced. Every file is compared with its checksum and every
    chunk is examined before the folder appears. An older backup is upgraded on the way.
    """
    with progress_bar("Restoring", visible=not as_json) as on_progress:
        report = anyio.run(run_restore, file.expanduser().absolute(), settings_of(ctx), on_progress)
    if as_json:
        print_json(_plain(asdict(report)))
        return
    origin = f"from {report.backup.created_at} (Bookwise {report.backup.version})"
    _write(f"{report.folder}: {_contents(report.backup)}, {origin}.")
    if not report.verified:
        _write("The chunks were not examined: the backup has no index of the configured embedder.")
        _write("Set BOOKWISE_EMBEDDER to the embedder of the books, then run `bookwise doctor`.")


def _contents(report: BackupReport) -> str:
    lessons, chunks = (sum(getattr(book, name) for book in report.books) for name in ("lessons", "chunks"))
    return f"{plural(len(report.books), 'book')}, {plural(lessons, 'lesson')}, {plural(chunks, 'chunk')}"


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """The report with paths as text."""
    return {
        name: _plain(item) if isinstance(item, dict) else str(item) if isinstance(item, Path) else item
        for name, item in value.items()
    }


def _write(text: str) -> None:
    console().print(printable(text), markup=False)
