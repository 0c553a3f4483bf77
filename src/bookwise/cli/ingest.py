"""`ingest` and `changes`: update the index from a book's files."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
import typer
import watchfiles

from bookwise.cli.exit_codes import OK, SOME_FAILED
from bookwise.cli.output import (
    JsonFlag,
    console,
    execute,
    print_json,
    printable,
    settings_of,
    with_app,
)
from bookwise.domain.errors import DataFolderBusy, InvalidInput
from bookwise.domain.jobs import MODES, IngestionMode, LessonOutcome
from bookwise.ingestion.discover import Discovery, discover
from bookwise.ingestion.documents.document import is_document
from bookwise.ingestion.pipeline import ingest as run_ingest
from bookwise.ingestion.plan import changes as compare
from bookwise.operations.books import ListLessons
from bookwise.operations.handover import operator_of
from bookwise.operations.jobs import IngestBook, JobReport
from bookwise.operations.retention import apply_retention
from bookwise.operations.shared_ingest import SharedIngest
from bookwise.schemas.books import IngestionJobReport, LessonReport
from bookwise.settings import Settings
from bookwise.text.plurals import plural
from bookwise.wiring import App, OnPage, local_copy

LINES_MAX = 10  #: failed lessons and notes shown

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="Folder of lessons, one file (such as book.pdf), or the https:// address of a site."
    ),
]
BookId = Annotated[
    str | None, typer.Option("--book", metavar="ID", help="Book id (default: from bookwise.toml or the folder name).")
]
OnOutcome = Callable[[LessonOutcome], None]


def add_to(app: typer.Typer) -> None:
    app.command()(ingest)
    app.command()(changes)


def ingest(
    ctx: typer.Context,
    path: SourceArgument,
    book: BookId = None,
    mode: Annotated[
        str,
        typer.Option(
            help="incremental: only changed lessons; full: all lessons; recreate: all lessons with new embeddings.",
            metavar="MODE",
        ),
    ] = "incremental",
    watch: Annotated[bool, typer.Option("--watch", help="Keep running and ingest again after every edit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read a book and make it searchable. Unchanged lessons are skipped.

    Exits with 1 when a lesson cannot be read; the other lessons are ingested.
    """
    if mode not in MODES:
        raise InvalidInput(f"--mode is {mode!r}.", advice=f"Use one of: {', '.join(MODES)}.")
    if watch and "://" in path:
        raise InvalidInput("--watch works on folders, not on sites.", advice="Run the command without --watch.")
    code = ingest_once(ctx, path, book, mode, as_json=as_json)
    if watch:
        _watch(path, partial(ingest_once, ctx, path, book, "incremental", as_json=as_json))
    raise typer.Exit(code)


def ingest_once(
    ctx: typer.Context, path: str, book: str | None, mode: IngestionMode = "incremental", *, as_json: bool = False
) -> int:
    """Ingests a book, prints the report and returns the exit code."""
    discovery, root = anyio.run(partial(_discover, path, book, settings_of(ctx)))
    total = len(discovery.files) + len(discovery.unreadable)
    with _progress(total, visible=not as_json) as show:
        try:
            report = with_app(ctx, partial(_ingest, discovery, root, mode=mode, source=_source(path), show=show))
        except DataFolderBusy as busy:
            with operator_of(settings_of(ctx), busy) as operator:
                request = IngestBook(source=_source(path), book_id=discovery.book_id, mode=mode)
                report = operator.ingest(request, show)
    if as_json:
        print_json(_report_json(discovery, report))
    else:
        _show(discovery, report)
    return SOME_FAILED if report.job.files_failed else OK


async def _ingest(
    discovery: Discovery, root: Path, app: App, *, mode: IngestionMode, source: str, show: OnOutcome
) -> JobReport:
    if app.steps is not None:
        return await SharedIngest(source=source, book_id=discovery.book_id, mode=mode).run(app, app.steps, show)
    outcomes: list[LessonOutcome] = []

    def collect(outcome: LessonOutcome) -> None:
        if outcome.status != "unchanged":  # counted, but not listed, as for a job that the service runs
            outcomes.append(outcome)
        show(outcome)

    job = await run_ingest(discovery, root, app.ingestion_kit, mode=mode, source=source, report=collect)
    await apply_retention(app)
    return JobReport(job=job, outcomes=tuple(outcomes))


def _source(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())


async def _discover(path: str, book: str | None, settings: Settings) -> tuple[Discovery, Path]:
    with _fetch_status(visible="://" in path and sys.stderr.isatty()) as on_page:
        copy = await local_copy(path, settings, on_page=on_page)
    with _reading_status(visible=is_document(path) and sys.stderr.isatty()):
        discovery = await anyio.to_thread.run_sync(partial(discover, copy.root, book_id=book))
    return replace(discovery, warnings=(*copy.notes, *discovery.warnings)), copy.root


@contextmanager
def _fetch_status(*, visible: bool) -> Iterator[OnPage | None]:
    if not visible:
        yield None
        return
    with console(stderr=True).status("Fetching the site …") as status:
        yield lambda done, total: status.update(f"Fetching page {done} of {total} …")


@contextmanager
def _reading_status(*, visible: bool) -> Iterator[None]:
    """Reading a PDF of hundreds of pages takes some time."""
    if not visible:
        yield
        return
    with console(stderr=True).status("Reading the document …"):
        yield


def _watch(path: str, again: Callable[[], int]) -> None:
    console(stderr=True).print(f"Watching {path} for changes. Press Ctrl-C to stop.", markup=False)
    for _ in watchfiles.watch(path, raise_interrupt=True):
        again()


def _progress(total: int, *, visible: bool) -> AbstractContextManager[OnOutcome]:
    if not visible or not sys.stderr.isatty():
        return _no_bar()
    from bookwise.cli.progress import lesson_bar  # loads rich: 0.05 s

    return lesson_bar(total)


@contextmanager
def _no_bar() -> Iterator[OnOutcome]:
    yield lambda outcome: None


def _report_json(discovery: Discovery, report: JobReport) -> dict[str, object]:
    return {
        "job": IngestionJobReport.of(report.job).model_dump(mode="json"),
        "site": discovery.site,
        "lessons": [LessonReport.of(outcome).model_dump(mode="json") for outcome in report.outcomes],
        "left_out": [{"source_file": f.source_file, "rule": f.rule, "detail": f.detail} for f in discovery.left_out],
        "warnings": list(discovery.warnings),
    }


def _show(discovery: Discovery, report: JobReport) -> None:
    out, job = console(stderr=True), report.job
    duration = f" in {job.duration_seconds} s" if job.duration_seconds else ""
    console().print(
        f"{printable(discovery.title)} ({discovery.book_id}): {plural(job.files_processed, 'lesson')} published, "
        f"{job.files_skipped - job.files_failed} unchanged, {job.files_withdrawn} withdrawn, "
        f"{job.files_failed} failed; {plural(job.chunks_created, 'chunk')}{duration}.",
        markup=False,
    )
    if discovery.left_out:
        rules = sorted({file.rule for file in discovery.left_out})
        out.print(f"Skipped {_not_lessons(len(discovery.left_out))} ({', '.join(rules)}).", markup=False)
    for warning in discovery.warnings[:LINES_MAX]:
        out.print(f"Note: {printable(warning)}", markup=False)
    if len(discovery.warnings) > LINES_MAX:
        more = plural(len(discovery.warnings) - LINES_MAX, "more note")
        out.print(f"… and {more}. `bookwise ingest --json` lists all of them.", markup=False)
    failed = [outcome for outcome in report.outcomes if outcome.status == "failed"]
    for outcome in failed[:LINES_MAX]:
        out.print(printable(f"Failed: {outcome.source_file}: {outcome.reason}: {outcome.message}"), markup=False)
    if len(failed) > LINES_MAX:
        out.print(
            f"… and {len(failed) - LINES_MAX} more. `bookwise jobs {job.job_id}` shows all of them.", markup=False
        )


def _not_lessons(count: int) -> str:
    return "1 file that is not a lesson" if count == 1 else f"{count} files that are not lessons"


def changes(ctx: typer.Context, path: SourceArgument, book: BookId = None, as_json: JsonFlag = False) -> None:
    """Show what an ingest would change. Lists new, modified and deleted lessons."""
    discovery, _ = anyio.run(partial(_discover, path, book, settings_of(ctx)))
    live = execute(ctx, ListLessons(book_id=discovery.book_id))
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    difference = compare(discovery.files, live.records, live.recipe, unreadable=unreadable, lost=live.lost)
    files = {
        "new": [file.source_file for file in difference.new],
        "modified": [file.source_file for file in difference.modified],
        "deleted": list(difference.deleted),
    }
    if as_json:
        print_json(
            {
                "book_id": discovery.book_id,
                **files,
                "unchanged": len(difference.unchanged),
                "unreadable": [
                    {"source_file": u.source_file, "reason": u.reason, "message": u.message}
                    for u in discovery.unreadable
                ],
            }
        )
        return
    for kind, names in files.items():
        for name in names:
            console().print(f"{kind:9} {printable(name)}", markup=False)
    console().print(f"{sum(map(len, files.values()))} to do, {len(difference.unchanged)} unchanged.", markup=False)
