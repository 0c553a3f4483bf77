"""`doctor`: files, catalog and index compared, and brought together again."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio.to_thread
import typer

from bookwise.cli.exit_codes import SOME_FAILED
from bookwise.cli.output import JsonFlag, console, print_json, with_app
from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError
from bookwise.ingestion.discover import Discovery, discover
from bookwise.ingestion.doctor import Finding, examine, repair
from bookwise.ingestion.pipeline import ingest
from bookwise.ingestion.plan import changes
from bookwise.wiring import App


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with one book."""

    book_id: str
    findings: list[Finding]
    to_publish: int = 0  #: lessons whose files differ from what is live
    to_withdraw: int = 0
    source: str = ""  #: why the files could not be compared, or empty

    @property
    def healthy(self) -> bool:
        return not (self.findings or self.to_publish or self.to_withdraw)


def doctor(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare each book's files, catalog and index, and repair what disagrees."""

    async def run(app: App) -> list[Diagnosis]:
        found = [await _diagnosed(app, book) for book in await app.catalog.books()]
        if repair:
            for diagnosis in found:
                await _repaired(app, diagnosis)
        return found

    found = with_app(ctx, run)
    healthy = all(diagnosis.healthy for diagnosis in found)
    if as_json:
        print_json({"healthy": healthy, "repaired": repair, "books": [asdict(d) for d in found]})
    else:
        _show(found, repair=repair)
    raise typer.Exit(0 if healthy or repair else SOME_FAILED)


async def _diagnosed(app: App, book: Book) -> Diagnosis:
    findings = await examine(book.id, index=app.index, catalog=app.catalog)
    try:
        discovery = await _files(book)
    except BookwiseError as error:
        return Diagnosis(book_id=book.id, findings=findings, source=error.message)
    records = await app.catalog.records(book.id)
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    found = changes(discovery.files, records, app.ingestion_kit.recipe, unreadable=unreadable)
    return Diagnosis(
        book_id=book.id,
        findings=findings,
        to_publish=len(found.new) + len(found.modified),
        to_withdraw=len(found.deleted),
    )


async def _files(book: Book) -> Discovery:
    return await anyio.to_thread.run_sync(partial(discover, Path(book.source), book_id=book.id))


async def _repaired(app: App, diagnosis: Diagnosis) -> None:
    await repair(diagnosis.findings, index=app.index, catalog=app.catalog)
    if not diagnosis.source and not diagnosis.healthy:
        book = await app.catalog.book(diagnosis.book_id)
        await ingest(await _files(book), Path(book.source), app.ingestion_kit, source=book.source)


def _show(found: list[Diagnosis], *, repair: bool) -> None:
    out = console()
    for diagnosis in found:
        mark = "healthy" if diagnosis.healthy else "repaired" if repair else "needs repair"
        out.print(f"{diagnosis.book_id}: {mark}", markup=False)
        for finding in diagnosis.findings:
            out.print(f"  {finding.message}", markup=False)
        if diagnosis.to_publish or diagnosis.to_withdraw:
            out.print(
                f"  files: {diagnosis.to_publish} lessons to publish, {diagnosis.to_withdraw} to withdraw",
                markup=False,
            )
        if diagnosis.source:
            out.print(f"  files not compared: {diagnosis.source}", markup=False)
    if not repair and not all(diagnosis.healthy for diagnosis in found):
        out.print("Run `bookwise doctor --repair` to mend this.", markup=False)
