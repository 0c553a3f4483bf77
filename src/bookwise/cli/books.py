"""`books`, `jobs`: what is there and what was done."""

from typing import Annotated

import typer

from bookwise.cli.output import BookOption, JsonFlag, console, print_json, printable, with_app
from bookwise.domain.books import Book
from bookwise.domain.jobs import IngestionJob as Job
from bookwise.domain.jobs import LessonOutcome
from bookwise.schemas.books import IngestionJob, IngestionRecord, IngestionState, LessonReport
from bookwise.wiring import App, index_folder


def add_to(app: typer.Typer) -> None:
    app.command()(books)
    app.command()(jobs)


def books(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the books of this data folder."""

    async def run(app: App) -> list[tuple[Book, IngestionState]]:
        return [(book, await _state(app, book)) for book in await app.catalog.books()]

    found = with_app(ctx, run)
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


async def _state(app: App, book: Book) -> IngestionState:
    records = await app.catalog.records(book.id)
    full, incremental = await app.catalog.last_ingested(book.id)
    return IngestionState(
        book_id=book.id,
        collection_name=index_folder(app.settings, book.embedder).name,
        records={record.source_file: IngestionRecord.of(record) for record in records},
        last_full_ingest=full,
        last_incremental_update=incremental,
        total_chunks=sum(record.chunk_count for record in records),
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

    async def run(app: App) -> tuple[list[Job], list[LessonOutcome]]:
        if job_id is not None:
            return [await app.jobs.job(job_id)], await app.jobs.outcomes(job_id)
        return await app.jobs.jobs(book, limit=limit), []

    found, outcomes = with_app(ctx, run)
    if as_json:
        shown = [IngestionJob.of(job).model_dump(mode="json") for job in found]
        lessons = [LessonReport.of(outcome).model_dump(mode="json") for outcome in outcomes]
        print_json({"jobs": shown} if job_id is None else {"job": shown[0], "lessons": lessons})
        return
    _show_jobs(found)
    for outcome in outcomes:
        if outcome.status == "failed":
            console().print(printable(f"  {outcome.source_file}: {outcome.reason}: {outcome.message}"), markup=False)


def _cell(text: str) -> str:
    from rich.markup import escape

    return escape(printable(text))


def _show_jobs(found: list[Job]) -> None:
    from rich.table import Table

    table = Table("Job", "Book", "Mode", "Status", "Files", "Skipped", "Failed", "Chunks", "Seconds", "Error")
    for job in found:
        table.add_row(
            str(job.job_id),
            job.book_id,
            job.mode,
            job.status,
            str(job.files_processed),
            str(job.files_skipped),
            str(job.files_failed),
            str(job.chunks_created),
            "" if job.duration_seconds is None else str(job.duration_seconds),
            _cell(job.error_message or ""),
        )
    console().print(table)
