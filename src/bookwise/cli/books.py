"""`books`, `jobs`: what is there and what was done."""

from typing import Annotated

import typer

from bookwise.cli.output import BookOption, JsonFlag, console, execute, print_json, printable
from bookwise.domain.books import Book
from bookwise.domain.jobs import IngestionJob
from bookwise.operations.books import BookSummary, ListBooks
from bookwise.operations.jobs import JobReport, ListJobs, ReadJob
from bookwise.schemas.books import IngestionJobReport, IngestionRecord, IngestionState, LessonReport


def add_to(app: typer.Typer) -> None:
    app.command()(books)
    app.command()(jobs)


def books(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the books of this data folder."""
    found = [(shelved.book, _state(shelved)) for shelved in execute(ctx, ListBooks())]
    if as_json:
        print_json({"books": [_book_json(book, state) for book, state in found]})
        return
    if not found:
        console().print("There is no book yet. Run [bold]bookwise ingest PATH[/].")
        return
    from rich.table import Table

    table = Table("Book", "Title", "Lessons", "Chunks", "Embedder", "Source")
    for book, state in found:
        counts = (str(len(state.records)), str(state.total_chunks))
        table.add_row(book.id, _cell(book.title), *counts, book.embedder_name, _cell(book.source))
    console().print(table)


def _state(shelved: BookSummary) -> IngestionState:
    return IngestionState(
        book_id=shelved.book.id,
        collection_name=shelved.collection,
        records={record.source_file: IngestionRecord.of(record) for record in shelved.records},
        last_full_ingest=shelved.last_full,
        last_incremental_update=shelved.last_incremental,
        total_chunks=sum(record.chunk_count for record in shelved.records),
    )


def _book_json(book: Book, state: IngestionState) -> dict[str, object]:
    facts = {"id": book.id, "title": book.title, "base_url": book.base_url, "source": book.source}
    embedder = {"name": book.embedder_name, "fingerprint": book.embedder, "size": book.embedder_size}
    modules = [{"name": m.name, "title": m.title, "aliases": list(m.aliases)} for m in book.modules]
    return {
        **facts,
        "language": book.language,
        "modules": modules,
        "embedder": embedder,
        "state": state.model_dump(mode="json"),
    }


def jobs(
    ctx: typer.Context,
    job_id: Annotated[int | None, typer.Argument(help="Show one job with its lessons.")] = None,
    book: BookOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many jobs.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List ingestion jobs, newest first, or show one with the outcome of every lesson."""
    if job_id is not None:
        _show_job(execute(ctx, ReadJob(job_id=job_id)), as_json=as_json)
        return
    found = execute(ctx, ListJobs(book=book, limit=limit))
    if as_json:
        print_json({"jobs": [IngestionJobReport.of(job).model_dump(mode="json") for job in found]})
    else:
        _show_jobs(found)


def _show_job(found: JobReport, *, as_json: bool) -> None:
    if as_json:
        lessons = [LessonReport.of(outcome).model_dump(mode="json") for outcome in found.outcomes]
        print_json({"job": IngestionJobReport.of(found.job).model_dump(mode="json"), "lessons": lessons})
        return
    _show_jobs([found.job])
    for outcome in found.outcomes:
        if outcome.status == "failed":
            console().print(printable(f"  {outcome.source_file}: {outcome.reason}: {outcome.message}"), markup=False)


def _cell(text: str) -> str:
    from rich.markup import escape

    return escape(printable(text))


def _show_jobs(found: list[IngestionJob]) -> None:
    from rich.table import Table

    table = Table("Job", "Book", "Mode", "Status", "Try", "Files", "Skipped", "Failed", "Chunks", "Seconds", "Error")
    for job in found:
        table.add_row(
            str(job.job_id),
            job.book_id,
            job.mode,
            job.status,
            str(job.attempt),
            str(job.files_processed),
            str(job.files_skipped),
            str(job.files_failed),
            str(job.chunks_created),
            "" if job.duration_seconds is None else str(job.duration_seconds),
            _cell(job.error_message or ""),
        )
    console().print(table)
