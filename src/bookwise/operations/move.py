"""Move the index or the database between the data folder and a server: copy, compare, and say what to set.

The source is never changed or deleted. A move runs in the command itself, because it needs the data folder alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bookwise.adapters.sql.copy_tables import CopyScope, compare_tables, copy_tables, count_rows
from bookwise.domain.books import Book
from bookwise.domain.errors import Conflict, JobAlreadyRunning, NotFound
from bookwise.ingestion.copy_book import BookCopy, copy_book
from bookwise.ports import JobStore
from bookwise.settings import Settings
from bookwise.wiring.move import DatabaseMove, IndexMove, open_database_move, open_index_move

MoveTarget: TypeAlias = Literal["qdrant", "embedded", "postgres", "sqlite"]
OnProgress: TypeAlias = Callable[[int, int], None]  #: done, total

JOBS_READ = 10_000  #: newest jobs, searched for open ones
MOVE_TARGETS: tuple[MoveTarget, ...] = ("qdrant", "embedded", "postgres", "sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRequest:
    """What to move, and where to."""

    to: MoveTarget
    url: str | None = None  #: of the server; None: the configured one
    book_id: str | None = None  #: None: everything
    replace: bool = False  #: replace what the target index holds of the books


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCopy:
    """A table that both databases hold, row by row the same."""

    name: str
    rows: int
    written: int  #: rows that the target did not hold before
    digest: str  #: SHA-256 of all rows, in the order of the source


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """What is now in both places, the same in each."""

    source: str
    target: str
    books: tuple[BookCopy, ...] = ()
    skipped: tuple[str, ...] = ()  #: books without a lesson in the source
    tables: tuple[TableCopy, ...] = ()
    to_do: tuple[str, ...]  #: which settings to change


async def move(request: MoveRequest, settings: Settings, on_progress: OnProgress) -> MoveReport:
    """Copies and compares. Running it again continues, or only compares.

    Raises `Conflict` when the target holds other data, `CopyMismatch` when the copy differs from its source, and
    `DataFolderBusy` while another process has the data folder.
    """
    if request.to in ("qdrant", "embedded"):
        to_server = request.to == "qdrant"
        async with open_index_move(settings, to_server=to_server, url=request.url) as ends:
            return await _move_index(request, ends, on_progress)
    async with open_database_move(settings, to_server=request.to == "postgres", url=request.url) as databases:
        return await _move_database(request, databases, on_progress)


async def _move_index(request: MoveRequest, ends: IndexMove, on_progress: OnProgress) -> MoveReport:
    source, target = ends.source, ends.target
    books = await _selected_books(request, ends)
    counts = {book.id: sum(r.chunk_count for r in await source.catalog.records(book.id)) for book in books}
    done = 0

    def report(chunks: int) -> None:
        nonlocal done
        done += chunks
        on_progress(done, sum(counts.values()))

    copies = [
        await copy_book(book_id, source, target, replace_other=request.replace, report=report)
        for book_id, chunks in counts.items()
        if chunks
    ]
    return MoveReport(
        source=source.name,
        target=target.name,
        books=tuple(copies),
        skipped=tuple(book_id for book_id, chunks in counts.items() if not chunks),
        to_do=_index_settings(request),
    )


async def _selected_books(request: MoveRequest, ends: IndexMove) -> list[Book]:
    """The books to move. Raises before anything is copied if one of them cannot be moved."""
    catalog = ends.source.catalog
    if ends.source.index.id == ends.target.index.id:
        raise Conflict("The source and the target are the same index.", advice="Nothing has to be moved.")
    books = await catalog.books() if request.book_id is None else [await catalog.book(request.book_id)]
    for book in books:
        book.require_embedder(ends.facts)
    await _require_no_job(request, ends.jobs)
    if not any([await catalog.records(book.id) for book in books]):
        raise NotFound(
            f"There is no book to move in {ends.source.name}.",
            advice="`bookwise books` lists the books. Check DATABASE_URL, which says where the catalog is.",
        )
    return books


async def _require_no_job(request: MoveRequest, jobs: JobStore) -> None:
    """Raises `JobAlreadyRunning` while a job may change what is copied."""
    for job in await jobs.jobs(request.book_id, limit=JOBS_READ):
        if job.completed_at is None:
            raise JobAlreadyRunning(
                f"Job {job.job_id} of the book {job.book_id!r} is {job.status}.",
                advice="Wait until it has ended. If its process is gone, `bookwise jobs` marks it as failed.",
            )


def _index_settings(request: MoveRequest) -> tuple[str, ...]:
    if request.to == "embedded":
        return ("Unset QDRANT_URL and QDRANT_API_KEY, then start Bookwise again.",)
    return ("Set QDRANT_URL to the address of this server, then start Bookwise again.",)


async def _move_database(request: MoveRequest, databases: DatabaseMove, on_progress: OnProgress) -> MoveReport:
    source, target = databases.source, databases.target
    scope = CopyScope(book_id=request.book_id)
    await _require_no_job(request, databases.jobs)
    total, done = 2 * await count_rows(source, scope), 0
    if not total:
        raise NotFound(
            f"There is nothing to move in {source.address.name}.", advice="`bookwise books` lists the books."
        )

    def report(rows: int) -> None:
        nonlocal done
        done += rows
        on_progress(min(done, total), total)

    written = await copy_tables(source, target, scope, report)
    compared = await compare_tables(source, target, scope, report)
    return MoveReport(
        source=source.address.name,
        target=target.address.name,
        tables=tuple(
            TableCopy(name=table.name, rows=table.rows, written=written.get(table.name, 0), digest=table.digest)
            for table in compared
        ),
        to_do=_database_settings(request),
    )


def _database_settings(request: MoveRequest) -> tuple[str, ...]:
    if request.to == "sqlite":
        return ("Unset DATABASE_URL, then start Bookwise again.",)
    return ("Set DATABASE_URL to the address of this database, then start Bookwise again.",)
