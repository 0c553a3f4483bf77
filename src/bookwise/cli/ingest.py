"""`ingest`, `changes`: bringing the index in line with a book."""

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

from bookwise.cli.exit_codes import SOME_FAILED
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
from bookwise.ingestion.pipeline import ingest as run_ingest
from bookwise.ingestion.plan import changes as differences
from bookwise.operations.books import ListLessons
from bookwise.operations.jobs import IngestBook, JobReport
from bookwise.schemas.books import IngestionJobReport, LessonReport
from bookwise.settings import Settings
from bookwise.wiring import App, OnPage, local_copy

SHOWN_FAILURES = 10

SourceArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A folder of lessons, or the https:// address of a site.")
]
BookId = Annotated[str | None, typer.Option("--book", help="The book's id (default: from the book itself).")]
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
        typer.Option(help="incremental: what changed; full: all lessons again; recreate: also embed all again."),
    ] = "incremental",
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and ingest again after every edit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read a book and make it searchable. Only what changed is done again."""
    if mode not in MODES:
        raise InvalidInput(f"--mode is {mode!r}; allowed: {', '.join(MODES)}.")
    code = _ingest_once(ctx, path, book, mode, as_json=as_json)
    if watch:
        _watch(path, partial(_ingest_once, ctx, path, book, "incremental", as_json=as_json))
    raise typer.Exit(code)


def _ingest_once(ctx: typer.Context, path: str, book: str | None, mode: IngestionMode, *, as_json: bool) -> int:
    discovery, root = anyio.run(partial(_discovered, path, book, settings_of(ctx)))
    total = len(discovery.files) + len(discovery.unreadable)
    with _progress(total, shown=not as_json) as show:
        try:
            done = with_app(ctx, partial(_ingested, discovery, root, mode=mode, source=_source(path), show=show))
        except DataFolderBusy as busy:
            from bookwise.cli.handover import operator_of  # start-up time that only this case has to pay

            with operator_of(settings_of(ctx), busy) as operator:
                done = operator.ingest(IngestBook(source=_source(path), book_id=discovery.book_id, mode=mode), show)
    if as_json:
        print_json(_report(discovery, done))
    else:
        _show(discovery, done)
    return SOME_FAILED if done.job.files_failed else 0


async def _ingested(
    discovery: Discovery, root: Path, app: App, *, mode: IngestionMode, source: str, show: OnOutcome
) -> JobReport:
    outcomes: list[LessonOutcome] = []

    def report(outcome: LessonOutcome) -> None:
        outcomes.append(outcome)
        show(outcome)

    job = await run_ingest(discovery, root, app.ingestion_kit, mode=mode, source=source, report=report)
    return JobReport(job=job, outcomes=tuple(outcomes))


def _source(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())


async def _discovered(path: str, book: str | None, settings: Settings) -> tuple[Discovery, Path]:
    with _fetching(shown="://" in path and sys.stderr.isatty()) as on_page:
        copy = await local_copy(path, settings, on_page=on_page)
    discovery = await anyio.to_thread.run_sync(partial(discover, copy.root, book_id=book))
    return replace(discovery, warnings=(*copy.notes, *discovery.warnings)), copy.root


@contextmanager
def _fetching(*, shown: bool) -> Iterator[OnPage | None]:
    if not shown:
        yield None
        return
    with console(stderr=True).status("Fetching the site …") as status:
        yield lambda done, total: status.update(f"Fetching page {done} of {total} …")


def _watch(path: str, again: Callable[[], int]) -> None:
    from watchfiles import watch

    if "://" in path:
        raise InvalidInput("--watch works on folders, not on sites.")
    console(stderr=True).print(f"Watching {path}. Ctrl-C ends.", markup=False)
    for _ in watch(path, raise_interrupt=True):
        again()


def _progress(total: int, *, shown: bool) -> AbstractContextManager[OnOutcome]:
    return _bar(total) if shown and sys.stderr.isatty() else _silence()


@contextmanager
def _silence() -> Iterator[OnOutcome]:
    yield lambda outcome: None


@contextmanager
def _bar(total: int) -> Iterator[OnOutcome]:
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
            done = outcome.status != "withdrawn"
            progress.update(task, advance=done, description=escape(printable(outcome.source_file.rsplit("/", 1)[-1])))

        yield show


def _report(discovery: Discovery, done: JobReport) -> dict[str, object]:
    return {
        "job": IngestionJobReport.of(done.job).model_dump(mode="json"),
        "site": discovery.site,
        "lessons": [LessonReport.of(outcome).model_dump(mode="json") for outcome in done.outcomes],
        "left_out": [{"source_file": f.source_file, "rule": f.rule, "detail": f.detail} for f in discovery.left_out],
        "warnings": list(discovery.warnings),
    }


def _show(discovery: Discovery, done: JobReport) -> None:
    out, job = console(stderr=True), done.job
    took = f" in {job.duration_seconds} s" if job.duration_seconds else ""
    console().print(
        f"{printable(discovery.title)} ({discovery.book_id}): {job.files_processed} lessons published, "
        f"{job.files_skipped - job.files_failed} unchanged, {job.files_withdrawn} withdrawn, "
        f"{job.files_failed} failed; {job.chunks_created} chunks{took}.",
        markup=False,
    )
    if discovery.left_out:
        rules = sorted({left.rule for left in discovery.left_out})
        out.print(f"Left out: {len(discovery.left_out)} files ({', '.join(rules)}).", markup=False)
    for warning in discovery.warnings[:SHOWN_FAILURES]:
        out.print(f"Note: {printable(warning)}", markup=False)
    failed = [outcome for outcome in done.outcomes if outcome.status == "failed"]
    for outcome in failed[:SHOWN_FAILURES]:
        out.print(printable(f"Failed: {outcome.source_file}: {outcome.reason}: {outcome.message}"), markup=False)
    if len(failed) > SHOWN_FAILURES:
        out.print(f"… and {len(failed) - SHOWN_FAILURES} more: bookwise jobs {job.job_id}", markup=False)


def changes(ctx: typer.Context, path: SourceArgument, book: BookId = None, as_json: JsonFlag = False) -> None:
    """Show what an ingest would do: new, modified and deleted lessons."""
    discovery, _ = anyio.run(partial(_discovered, path, book, settings_of(ctx)))
    live = execute(ctx, ListLessons(book_id=discovery.book_id))
    missing = frozenset(lesson.source_file for lesson in discovery.unreadable)
    found = differences(discovery.files, live.records, live.recipe, unreadable=missing)
    named = {
        "new": [file.source_file for file in found.new],
        "modified": [file.source_file for file in found.modified],
        "deleted": list(found.deleted),
    }
    if as_json:
        unreadable = [
            {"source_file": u.source_file, "reason": u.reason, "message": u.message} for u in discovery.unreadable
        ]
        print_json(
            {
                "book_id": discovery.book_id,
                **named,
                "unchanged": len(found.unchanged),
                "unreadable": unreadable,
            }
        )
        return
    for kind, files in named.items():
        for file in files:
            console().print(f"{kind:9} {printable(file)}", markup=False)
    console().print(f"{sum(map(len, named.values()))} to do, {len(found.unchanged)} unchanged.", markup=False)
