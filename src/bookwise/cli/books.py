"""`books` and `jobs`: list and remove books, list ingestion jobs."""

import sys
from typing import Annotated

import typer

from bookwise.cli.exit_codes import SOME_FAILED
from bookwise.cli.output import (
    JsonFlag,
    console,
    execute,
    print_json,
    printable,
    with_catalog,
    write_entry,
)
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.jobs import IngestionJob
from bookwise.operations.books import BookSummary, ListBooks, RemoveBook
from bookwise.operations.jobs import JobReport, ListJobs, ReadJob
from bookwise.schemas.books import IngestionJobReport, IngestionRecord, IngestionState, LessonReport
from bookwise.text.plurals import plural


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(books)
    group.command()(remove)
    app.add_typer(group, name="books")
    app.command()(jobs)


def books(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the books in the data folder, or remove one.

    Works while another process uses the data folder.
    """
    if ctx.invoked_subcommand is not None:
        return
    summaries = with_catalog(ctx, ListBooks().run)
    if as_json:
        print_json({"books": [_book_json(summary) for summary in summaries]})
        return
    if not summaries:
        console().print("There is no book yet. Run [bold]bookwise ingest PATH[/].")
    for summary in summaries:
        book, chunks = summary.book, sum(record.chunk_count for record in summary.records)
        size = f"{plural(len(summary.records), 'lesson')}, {plural(chunks, 'chunk')}, embedder {book.embedder_name}"
        write_entry(book.id, book.title, size, book.source)


def remove(
    ctx: typer.Context,
    book_id: Annotated[str, typer.Argument(metavar="ID", help="Book id, as shown by `bookwise books`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove a book from the catalog and the index.

    The book's files, its saved threads and its jobs are kept. To use the book again, ingest it again.
    """
    if not yes and not _confirm(ctx, book_id):
        typer.echo("Nothing was removed.", err=True)
        raise typer.Exit(SOME_FAILED)
    removed = execute(ctx, RemoveBook(book_id=book_id))
    if as_json:
        report = {"book_id": removed.book_id, "title": removed.title}
        print_json({"removed": {**report, "lessons": removed.lessons, "chunks": removed.chunks}})
    else:
        counts = f"{plural(removed.lessons, 'lesson')}, {plural(removed.chunks, 'chunk')}"
        typer.echo(printable(f"Removed {removed.title} ({removed.book_id}): {counts}."))


def _confirm(ctx: typer.Context, book_id: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            "Removing a book needs a confirmation, and there is no terminal to ask on.",
            advice=f"Run `bookwise books remove {book_id} --yes`.",
        )
    summary = next((s for s in with_catalog(ctx, ListBooks().run) if s.book.id == book_id), None)
    if summary is None:
        raise NotFound(f"There is no book {book_id!r}.", advice="`bookwise books` lists the books.")
    question = f"Remove {summary.book.title} ({book_id}) with {plural(len(summary.records), 'lesson')}?"
    return typer.confirm(printable(question), err=True)


def _book_json(summary: BookSummary) -> dict[str, object]:
    book = summary.book
    return {
        "id": book.id,
        "title": book.title,
        "base_url": book.base_url,
        "source": book.source,
        "language": book.language,
        "modules": _modules_json(book),
        "embedder": {"name": book.embedder_name, "fingerprint": book.embedder, "size": book.embedder_size},
        "state": _state(summary).model_dump(mode="json"),
    }


def _modules_json(book: Book) -> list[dict[str, object]]:
    return [{"name": m.name, "title": m.title, "aliases": list(m.aliases)} for m in book.modules]


def _state(summary: BookSummary) -> IngestionState:
    return IngestionState(
        book_id=summary.book.id,
        collection_name=summary.collection,
        records={record.source_file: IngestionRecord.of(record) for record in summary.records},
        last_full_ingest=summary.last_full,
        last_incremental_update=summary.last_incremental,
        total_chunks=sum(record.chunk_count for record in summary.records),
    )


def jobs(
    ctx: typer.Context,
    job_id: Annotated[int | None, typer.Argument(metavar="ID", help="Show this job and its failed lessons.")] = None,
    book: Annotated[str | None, typer.Option("--book", metavar="ID", help="Only jobs of this book.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of jobs.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List ingestion jobs, newest first, or show one job.

    Works while another process uses the data folder. With --json, one job is shown with all its lessons.
    """
    if job_id is not None:
        _show_job(with_catalog(ctx, ReadJob(job_id=job_id).run), as_json=as_json)
        return
    newest = with_catalog(ctx, ListJobs(book=book, limit=limit).run)
    if as_json:
        print_json({"jobs": [IngestionJobReport.of(job).model_dump(mode="json") for job in newest]})
        return
    if not newest:
        console().print("There is no ingestion job yet. Run [bold]bookwise ingest PATH[/].")
    for job in newest:
        _show_summary(job)


def _show_job(report: JobReport, *, as_json: bool) -> None:
    if as_json:
        lessons = [LessonReport.of(outcome).model_dump(mode="json") for outcome in report.outcomes]
        print_json({"job": IngestionJobReport.of(report.job).model_dump(mode="json"), "lessons": lessons})
        return
    failures = (outcome for outcome in report.outcomes if outcome.status == "failed")
    warnings = (f"Note: {warning}" for warning in report.job.warnings)
    _show_summary(
        report.job, *warnings, *(f"{failure.source_file}: {failure.reason}: {failure.message}" for failure in failures)
    )


def _show_summary(job: IngestionJob, *lines: str) -> None:
    counts = (
        f"{plural(job.files_processed, 'lesson')} published, {job.files_skipped - job.files_failed} unchanged, "
        f"{job.files_withdrawn} withdrawn, {job.files_failed} failed; {plural(job.chunks_created, 'chunk')}"
    )
    error = [f"Error: {job.error_message}"] if job.error_message else []
    write_entry(f"Job {job.job_id}  {job.book_id}  {job.status}", _run_facts(job), counts, *error, *lines)


def _run_facts(job: IngestionJob) -> str:
    facts = [job.mode, f"queued {job.queued_at:%Y-%m-%d %H:%M} UTC"]
    if job.duration_seconds is not None:
        facts.append(f"took {job.duration_seconds} s")
    if job.attempt > 1:
        facts.append(f"attempt {job.attempt}")
    return ", ".join(facts)
