"""Notices when the database or the index in a data folder was changed by anything but Bookwise.

A process takes the seal when it opens the folder and writes a new one when it closes it: a digest of every file. A
process that is killed leaves no seal, and then there is nothing to compare until the next one has closed the folder.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from bookwise.adapters.qdrant.collections import BOOK_FILE, BOOKS_FOLDER, IDENTITY_FILE
from bookwise.adapters.sparse_files import data_blocks

SEAL_FILE = "seal.json"
DATABASE_FILE = "bookwise.db"
INDEX_FOLDER = "index"
#: The engine may rewrite these when it opens an index. Damage to them shows in the chunks.
REWRITTEN = frozenset({"tracker_journal.dat", "edge_config.json", "mutable_id_tracker.versions"})


class SealedFile(NamedTuple):
    """A file when it was last closed."""

    size: int
    modified: int  #: in nanoseconds
    digest: str


@dataclass(frozen=True, slots=True)
class Seal:
    """What a folder contained when it was last closed, and the files that had been changed before that."""

    files: Mapping[str, SealedFile]
    changed: frozenset[str] = frozenset()


@contextmanager
def sealed(folder: Path) -> Iterator[None]:
    """Takes the seal for the duration of the block, which may write to the folder."""
    seal = _compare_quickly(folder, _read(folder))
    with suppress(OSError):
        (folder / SEAL_FILE).unlink(missing_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # without space for a seal, the folder is left without one
            _write(folder, seal)


def changed_files(folder: Path) -> list[str]:
    """The files that something else has changed or removed since Bookwise closed the folder. Reads all of them."""
    seal = _read(folder)
    found = {name: _digest(folder / name) for name in seal.files if (folder / name).is_file()}
    return sorted(seal.changed | {name for name, file in seal.files.items() if found.get(name) != file.digest})


def part_of_index(name: str) -> str | None:
    """The folder of the book that a file belongs to, or of the whole index; None for a file of no index."""
    match name.split("/"):
        case [first, index, books, book, *_] if (first, books) == (INDEX_FOLDER, BOOKS_FOLDER):
            return f"{first}/{index}/{books}/{book}"
        case [first, index, *_] if first == INDEX_FOLDER:
            return f"{first}/{index}"
    return None


def accept_files(folder: Path) -> None:
    """Removes the seal: the files count as unchanged from now on."""
    (folder / SEAL_FILE).unlink(missing_ok=True)


def _compare_quickly(folder: Path, seal: Seal) -> Seal:
    """Compares only the files whose size or time differ: none, unless the folder was copied or changed."""
    changed = set(seal.changed)
    for name, file in seal.files.items():
        path = f"{folder}/{name}"
        if not os.path.isfile(path) or (_stat(path) != file[:2] and _digest(path) != file.digest):
            changed.add(name)
    return Seal(seal.files, frozenset(changed))


def _write(folder: Path, previous: Seal) -> None:
    files: dict[str, SealedFile] = {}
    for unit in _units(folder):
        is_same = _is_same(folder / unit.marker, previous.files.get(unit.marker))
        for name in unit.files:
            path = f"{folder}/{name}"  # not a Path: with 150 files they take longer than the digests
            known = previous.files.get(name) if is_same else None
            files[name] = SealedFile(*_stat(path), known.digest if known else _digest(path))
    if not files and not previous.changed:
        return  # nothing to compare
    content = json.dumps({"files": files, "changed": sorted(previous.changed)})
    new = folder / f"{SEAL_FILE}.new"
    new.write_text(f"{_text_digest(content)}\n{content}", encoding="utf-8")
    new.replace(folder / SEAL_FILE)


def _read(folder: Path) -> Seal:
    """The seal; an empty one if there is none or it is damaged itself."""
    try:
        digest, _, content = (folder / SEAL_FILE).read_text(encoding="utf-8").partition("\n")
        if digest != _text_digest(content):
            return Seal({})
        stored = json.loads(content)
        files = {name: SealedFile(*file) for name, file in stored["files"].items() if not _is_deleted(folder, name)}
        return Seal(files, frozenset(name for name in stored["changed"] if not _is_deleted(folder, name)))
    except (OSError, ValueError):
        return Seal({})


def _is_deleted(folder: Path, name: str) -> bool:
    """Whether the whole index or the whole book of this file is gone, as after a move to a server. A book without its
    chunks is noticed elsewhere. Earlier releases had no folder of books: with it, their files are gone too."""
    part = part_of_index(name)
    if part is None:
        return False
    is_of_earlier_release = f"/{BOOKS_FOLDER}/" not in name and not name.endswith(f"/{IDENTITY_FILE}")
    return not os.path.exists(f"{folder}/{part}") or (
        is_of_earlier_release and os.path.exists(f"{folder}/{part}/{BOOKS_FOLDER}")
    )


class _SealedUnit(NamedTuple):
    """Files that are written together, and the one whose time says when. The engine touches its files even if it only
    reads them, or writes them without a trace in their times."""

    marker: str
    files: list[str]


def _units(folder: Path) -> Iterator[_SealedUnit]:
    """The database, the identity of each index, and each of its books."""
    database = folder / DATABASE_FILE
    log = folder / f"{DATABASE_FILE}-wal"
    if database.is_file() and not (log.is_file() and log.stat().st_size):  # another process still reads it
        yield _SealedUnit(DATABASE_FILE, [DATABASE_FILE])
    for identity in sorted((folder / INDEX_FOLDER).glob(f"*/{IDENTITY_FILE}")):
        name = identity.relative_to(folder).as_posix()
        yield _SealedUnit(name, [name])
    for book in sorted((folder / INDEX_FOLDER).glob(f"*/{BOOKS_FOLDER}/*/{BOOK_FILE}")):
        files = sorted(name for name in _names_below(book.parent, folder) if name.rpartition("/")[2] not in REWRITTEN)
        yield _SealedUnit(book.relative_to(folder).as_posix(), files)


def _names_below(start: Path, folder: Path) -> Iterator[str]:
    """The files below `start`, relative to the folder."""
    for path, _, files in os.walk(start):
        below = path.removeprefix(f"{folder}/")
        yield from (f"{below}/{name}" for name in files if os.path.isfile(f"{path}/{name}"))


def _is_same(marker: Path, known: SealedFile | None) -> bool:
    return known is not None and _stat(marker) == known[:2]


def _stat(path: Path | str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def _text_digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _digest(path: Path | str) -> str:
    """A digest of the content that is the same whether zeros are written or left as holes."""
    with open(path, "rb", buffering=0) as file:
        handle = file.fileno()
        size = os.fstat(handle).st_size
        digest = blake2b(str(size).encode(), digest_size=16)
        for offset, block in data_blocks(handle, size):
            digest.update(offset.to_bytes(8) + block)
    return digest.hexdigest()
