"""Compare the files, catalog and index of each book, and repair the differences."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio.to_thread

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.seal import accept_files, changed_files, part_of_index
from bookwise.domain.books import Book
from bookwise.domain.errors import (
    BookwiseError,
    CollectionMismatch,
    DamagedData,
    EmbedderMismatch,
    JobAlreadyRunning,
)
from bookwise.domain.jobs import IngestionJob
from bookwise.ingestion.discover import Discovery, discover
from bookwise.ingestion.doctor import Finding, examine, repair
from bookwise.ingestion.pipeline import failing_with, open_job, run_job
from bookwise.ingestion.plan import changes
from bookwise.ingestion.step_store import StepStore
from bookwise.operations.shared_ingest import SharedIngest, work_on_job
from bookwise.settings import Settings
from bookwise.wiring import App, database_url, index_folder, open_embedder
from bookwise.wiring.catalog_stores import open_catalog_stores

DAMAGED_FOLDER = "damaged"
EMBEDDED_CHUNKS_MAX = 100_000
"""A book of this size in the data folder takes twice as long for a search as for the embedding of the question, and
1 s to open (docs/operating.md, "Sizing"; measured by benchmarks/scale.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The problems of one book."""

    book_id: str
    findings: tuple[Finding, ...] = ()
    to_publish: int = 0  #: lessons whose files are new or changed
    to_withdraw: int = 0  #: live lessons whose files are gone
    source: str = ""  #: why the files could not be compared, or empty
    blocked: str = ""  #: why the book could not be examined at all, or empty

    @property
    def healthy(self) -> bool:
        return not (self.findings or self.to_publish or self.to_withdraw or self.blocked)

    @property
    def can_repair(self) -> bool:
        return not self.healthy and not self.blocked


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """The state of every book, and notes on the installation that are no problems."""

    books: tuple[Diagnosis, ...]
    storage: tuple[str, ...] = ()  #: problems of the files in the data folder
    notes: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.storage and all(diagnosis.healthy for diagnosis in self.books)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseBooks:
    """The state of every book before the repair, if one is requested."""

    repair: bool
    storage: tuple[str, ...] = ()  #: what `check_files` found before the folder was opened

    async def run(self, app: App) -> DoctorReport:
        if self.repair and app.steps is not None:
            await _finish_open_jobs(app, app.steps)
        diagnoses = [await _diagnose(book, app) for book in await app.catalog.books()]
        for diagnosis in diagnoses:
            if self.repair and diagnosis.can_repair:
                await _repair(diagnosis, app)
        storage = (*self.storage, *await app.check_database())
        return DoctorReport(books=tuple(diagnoses), storage=storage, notes=await _size_notes(app))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """The state of the files in a data folder."""

    problems: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()  #: what the repair moved away


async def check_files(settings: Settings, *, repair: bool) -> FileCheck:
    """Compares the files with what Bookwise last wrote, and opens every book. Call it before the folder is opened.

    The repair moves a book that cannot be opened, or whose files were changed, out of the way: it is then ingested
    again. It keeps what can be opened if the source of a book is gone. Changes of the database are accepted: only a
    backup could undo them. Raises `DataFolderBusy`.
    """
    if not settings.needs_data_folder or not settings.data_dir.is_dir():
        return FileCheck()
    with lock_data_folder(settings.data_dir, writes=False):
        changed = changed_files(settings.data_dir)
        problems = [f"{name}: changed by something else since Bookwise wrote it" for name in changed]
        in_index = {settings.data_dir / part for name in changed if (part := part_of_index(name))}
        damage = await _index_damage(settings)
        problems += damage.values()
        lost = set(damage)
        if in_index and await _has_all_sources(settings):
            lost |= in_index
        moved = [_move_away(folder, settings) for folder in _outermost(lost)] if repair else []
        if repair and changed and in_index <= lost:
            accept_files(settings.data_dir)
    return FileCheck(problems=tuple(problems), moved=tuple(moved))


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Without the folders inside another one."""
    return sorted(folder for folder in folders if not any(other in folder.parents for other in folders))


async def _index_damage(settings: Settings) -> dict[Path, str]:
    """Why the index in the data folder or books in it cannot be opened, by folder."""
    if settings.qdrant_url is not None:
        return {}
    async with AsyncExitStack() as stack:
        embedder = await stack.enter_async_context(open_embedder(settings))
        folder = index_folder(settings, embedder.facts.fingerprint)
        if not folder.exists():
            return {}
        try:
            index = await stack.enter_async_context(open_index(folder, size=embedder.facts.size))
            return await index.damaged_books()
        except DamagedData as error:
            return {folder: error.message}


async def _has_all_sources(settings: Settings) -> bool:
    """Whether every book can be ingested again from its folder."""
    async with open_catalog_stores(database_url(settings)) as stores:
        books = await stores.catalog("").books()
    return all(map(_has_source, books))


def _has_source(book: Book) -> bool:
    return Path(book.source).is_dir()


def _move_away(folder: Path, settings: Settings) -> str:
    target = settings.data_dir / DAMAGED_FOLDER / f"{folder.name}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    target.parent.mkdir(mode=0o700, exist_ok=True)
    folder.rename(target)
    return f"The damaged files are in {target}. Delete them when the books are complete."


async def _size_notes(app: App) -> tuple[str, ...]:
    if app.settings.qdrant_url is not None:
        return ()
    sizes = {book.id: sum((await app.catalog.live_chunks(book.id)).values()) for book in await app.catalog.books()}
    return tuple(
        f"The book {book_id!r} has {chunks:,} chunks. Above {EMBEDDED_CHUNKS_MAX:,}, use a Qdrant server: "
        "`bookwise move --to qdrant` copies the index there."
        for book_id, chunks in sizes.items()
        if chunks > EMBEDDED_CHUNKS_MAX
    )


async def _diagnose(book: Book, app: App) -> Diagnosis:
    try:
        await _require_examinable(book, app)
    except (CollectionMismatch, EmbedderMismatch, JobAlreadyRunning) as error:
        return Diagnosis(book_id=book.id, blocked=f"{error.message} {error.advice}")
    findings = tuple(await examine(book.id, index=app.index, catalog=app.catalog))
    try:
        discovery = await _discover(book)
    except BookwiseError as error:
        return Diagnosis(book_id=book.id, findings=findings, source=error.message)
    records = await app.catalog.records(book.id)
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    difference = changes(discovery.files, records, app.ingestion_kit.recipe, unreadable=unreadable)
    return Diagnosis(
        book_id=book.id,
        findings=findings,
        to_publish=len(difference.new) + len(difference.modified),
        to_withdraw=len(difference.deleted),
    )


async def _require_examinable(book: Book, app: App) -> None:
    book.require_embedder(app.embedder.facts)
    await app.catalog.live(book.id)  # raises CollectionMismatch
    if job := await _open_job_of(book, app):
        raise JobAlreadyRunning(
            f"Job {job.job_id} of the book is {job.status}.", advice="Run the command again when the job has ended."
        )


async def _open_job_of(book: Book, app: App) -> IngestionJob | None:
    newest = await app.jobs.jobs(book.id, limit=1)  # a book has at most one open job, and it is the newest
    return newest[0] if newest and newest[0].completed_at is None else None


async def _finish_open_jobs(app: App, steps: StepStore) -> None:
    """Works on open jobs until they end: without a worker, one that a killed command has left would stay open."""
    for book in await app.catalog.books():
        if job := await _open_job_of(book, app):
            await work_on_job(job.job_id, app, steps)


async def _discover(book: Book) -> Discovery:
    return await anyio.to_thread.run_sync(partial(discover, Path(book.source), book_id=book.id))


async def _repair(diagnosis: Diagnosis, app: App) -> None:
    fix = partial(repair, list(diagnosis.findings), index=app.index, catalog=app.catalog)
    book = await app.catalog.book(diagnosis.book_id)
    if diagnosis.source:
        await fix()
    elif app.steps is None:
        await _repair_in_process(book, app, fix)
    else:
        await fix()  # before the job is planned: the plan then contains the lessons that this withdraws
        await _ingest_shared(book, app, app.steps)


async def _repair_in_process(book: Book, app: App, fix: Callable[[], Awaitable[None]]) -> None:
    """Repairs inside a job, so that no other job of the book runs at the same time."""
    job = await open_job(book.id, app.ingestion_kit, mode="incremental", source=book.source)
    async with failing_with(job, app.jobs):
        started = await app.jobs.start(job.job_id)
        await fix()
        await run_job(started, await _discover(book), Path(book.source), app.ingestion_kit)


async def _ingest_shared(book: Book, app: App, steps: StepStore) -> None:
    """As `bookwise ingest`: if this process is killed, a worker or the next repair finishes the job."""
    await SharedIngest(source=book.source, book_id=book.id, mode="incremental").run(app, steps)
