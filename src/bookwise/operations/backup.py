"""A data folder → one archive, while it is in use; and an archive → a new data folder.

Nothing is written to the index while the database and the index are copied, so every lesson that the copied catalog
shows is complete in the copied index.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio.to_thread

from bookwise import __version__
from bookwise.adapters.backup_archive import (
    ArchivedBook,
    ArchiveFacts,
    Manifest,
    OnBytes,
    extract_archive,
    read_manifest,
    write_archive,
)
from bookwise.adapters.disk_sync import sync_folder
from bookwise.adapters.private_files import private_umask
from bookwise.adapters.qdrant.embedded import EmbeddedIndex
from bookwise.adapters.sql.address import parse_address
from bookwise.adapters.sql.snapshot import copy_database
from bookwise.domain.errors import Conflict, DamagedData, Misconfigured, NotFound
from bookwise.operations.doctor import DiagnoseBooks
from bookwise.settings import Settings
from bookwise.wiring import DATABASE_FILE, INDEX_FOLDER, App, database_url, index_folder, open_app, open_embedder

OnProgress: TypeAlias = Callable[[int, int], None]  #: megabytes done, in total

UNFINISHED_SUFFIX = ".restoring"
STAGED = "orphan-chunks"  #: an ingest had not published them when the backup was made; the next one removes them


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """An archive: where it is, and what it contains."""

    file: Path
    archive_bytes: int
    version: str  #: of Bookwise, when the archive was written
    created_at: str
    books: tuple[ArchivedBook, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackUpData:
    """Writes the database and the index of the data folder to a new file."""

    file: Path  #: absolute, because the service may run in another folder

    async def run(self, app: App) -> BackupReport:
        """Raises `Conflict` if the file exists, `Misconfigured` if the data is on servers, and what the operating
        system reports. A failed backup leaves no file."""
        return await back_up(self.file, app, lambda done, total: None)


async def back_up(file: Path, app: App, on_progress: OnProgress) -> BackupReport:
    """Like `BackUpData`, with progress."""
    database = _require_data_folder(app.settings)
    _require_new(file)
    if not isinstance(app.index, EmbeddedIndex):
        raise _not_in_folder("The index")
    with _scratch_folder(file.parent) as scratch:
        async with app.index.hold_writes():
            facts = await _facts(app)
            files = await anyio.to_thread.run_sync(_files, app.settings.data_dir, database, scratch)
            archive = scratch / file.name
            write = partial(write_archive, archive, files, facts, _reporter(_total(files), on_progress))
            manifest = await anyio.to_thread.run_sync(write)
        archive.rename(file)
        sync_folder(file.parent)
    return _report(file, manifest)


def _require_new(file: Path) -> None:
    if file.exists():
        raise Conflict(f"The file {file} exists.", advice="Name another file. A backup replaces nothing.")
    if not file.parent.is_dir():
        raise NotFound(f"There is no folder {file.parent}.", advice="Create it, or name another file.")


def _require_data_folder(settings: Settings) -> Path:
    """The file of the database. Raises `Misconfigured` unless database and index are files of this machine."""
    address = parse_address(database_url(settings))
    if address.kind != "sqlite":
        raise _not_in_folder("The database")
    if settings.qdrant_url is not None:
        raise _not_in_folder("The index")
    return Path(address.location)


def _not_in_folder(what: str) -> Misconfigured:
    return Misconfigured(
        f"{what} is on a server. `backup` and `restore` work on a data folder only.",
        advice="Use the tools of PostgreSQL and Qdrant: see docs/operating.md, “Back up”.",
    )


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder that only this user can read, on the same disk as the archive."""
    with private_umask(), tempfile.TemporaryDirectory(prefix=".bookwise-backup-", dir=parent) as folder:
        yield Path(folder)


async def _facts(app: App) -> ArchiveFacts:
    books = []
    for book in await app.catalog.books():
        records = await app.catalog.records(book.id)
        chunks = sum(record.chunk_count for record in records)
        books.append(ArchivedBook(id=book.id, title=book.title, lessons=len(records), chunks=chunks))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ArchiveFacts(version=__version__, created_at=now, books=tuple(books))


def _files(folder: Path, database: Path, scratch: Path) -> dict[str, Path]:
    """The files to archive by their names: a copy of the database, and every index."""
    copy = scratch / DATABASE_FILE
    copy_database(database, copy)
    index = (path for path in sorted((folder / INDEX_FOLDER).rglob("*")) if path.is_file() and not path.is_symlink())
    return {DATABASE_FILE: copy} | {path.relative_to(folder).as_posix(): path for path in index}


def _total(files: dict[str, Path]) -> int:
    return sum(min(stat.st_size, stat.st_blocks * 512) for stat in (path.stat() for path in files.values()))


def _reporter(total: int, on_progress: OnProgress) -> OnBytes:
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        on_progress(min(done, total) // 10**6, total // 10**6)

    return report


def _report(file: Path, manifest: Manifest) -> BackupReport:
    facts = manifest.facts
    return BackupReport(
        file=file,
        archive_bytes=file.stat().st_size,
        version=facts.version,
        created_at=facts.created_at,
        books=facts.books,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """A data folder that was restored."""

    folder: Path
    backup: BackupReport
    verified: bool  #: every chunk was compared; False if the configured embedder has no index in the backup


async def restore(file: Path, settings: Settings, on_progress: OnProgress) -> RestoreReport:
    """Restores an archive to the data folder, which must not exist or be empty.

    The folder appears when everything is extracted, compared with its checksums, migrated to the tables of this version
    and examined as `doctor` does. Raises `Conflict` if the folder has content, `DamagedData` if the archive is damaged.
    """
    _require_data_folder(settings)
    manifest = await anyio.to_thread.run_sync(read_manifest, file)
    folder = settings.data_dir.absolute()
    _require_no_content(folder)
    with private_umask(), _unfinished_folder(folder) as unfinished:
        report = _reporter(manifest.data_bytes, on_progress)
        await anyio.to_thread.run_sync(extract_archive, file, manifest, unfinished, report)
        verified = await _verify(file, replace(settings, data_dir=unfinished))
        unfinished.rename(folder)
        sync_folder(folder.parent)
    return RestoreReport(folder=folder, backup=_report(file, manifest), verified=verified)


def _require_no_content(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(
            f"The data folder {folder} is not empty.",
            advice="Name a new folder with --data-dir, or move this one away. A restore replaces nothing.",
        )


@contextmanager
def _unfinished_folder(folder: Path) -> Iterator[Path]:
    """A new folder next to the data folder, removed at the end unless it was renamed. A killed restore leaves it to the
    next one."""
    unfinished = folder.with_name(folder.name + UNFINISHED_SUFFIX)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700, parents=True)
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


async def _verify(file: Path, settings: Settings) -> bool:
    """Opens the restored folder and examines every book. Whether there was an index to examine."""
    async with open_embedder(settings) as embedder:
        if not index_folder(settings, embedder.facts.fingerprint).exists():
            return False
        async with open_app(settings, embedder=embedder) as app:
            report = await DiagnoseBooks(repair=False).run(app)
    findings = [finding for book in report.books for finding in book.findings if finding.kind != STAGED]
    problems = [*report.storage, *(finding.message for finding in findings)]
    if problems:
        raise DamagedData(f"The backup {file} is incomplete: {problems[0]}", advice="Use another backup.")
    return True
