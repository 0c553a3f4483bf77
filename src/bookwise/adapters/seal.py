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

from bookwise.adapters.qdrant.collections import IDENTITY_FILE

SEAL_FILE = "seal.json"
DATABASE_FILE = "bookwise.db"
INDEX_FOLDER = "index"
#: The engine may rewrite these when it opens an index. Damage to them shows in the chunks.
REWRITTEN = frozenset({"tracker_journal.dat", "edge_config.json", "mutable_id_tracker.versions"})
BLOCK_BYTES = 64 * 1024


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


def accept_files(folder: Path) -> None:
    """Removes the seal: the files count as unchanged from now on."""
    (folder / SEAL_FILE).unlink(missing_ok=True)


def _compare_quickly(folder: Path, seal: Seal) -> Seal:
    """Compares only the files whose size or time differ: none, unless the folder was copied or changed."""
    changed = set(seal.changed)
    for name, file in seal.files.items():
        path = folder / name
        if not path.is_file() or (_stat(path) != file[:2] and _digest(path) != file.digest):
            changed.add(name)
    return Seal(seal.files, frozenset(changed))


def _write(folder: Path, previous: Seal) -> None:
    files: dict[str, SealedFile] = {}
    for unit in _units(folder):
        is_same = _is_same(unit.marker, previous.files.get(unit.marker.relative_to(folder).as_posix()))
        for path in unit.files:
            name = path.relative_to(folder).as_posix()
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
    """Whether the whole index of this file is gone, as after a move to a server. A book without an index is noticed
    elsewhere."""
    parts = Path(name).parts
    return parts[0] == INDEX_FOLDER and not (folder / INDEX_FOLDER / parts[1]).exists()


class _SealedUnit(NamedTuple):
    """Files that are written together, and the one whose time says when. The engine touches its files even if it only
    reads them, or writes them without a trace in their times."""

    marker: Path
    files: list[Path]


def _units(folder: Path) -> Iterator[_SealedUnit]:
    """The database, and each index."""
    database = folder / DATABASE_FILE
    log = folder / f"{DATABASE_FILE}-wal"
    if database.is_file() and not (log.is_file() and log.stat().st_size):  # another process still reads it
        yield _SealedUnit(database, [database])
    for identity in sorted((folder / INDEX_FOLDER).glob(f"*/{IDENTITY_FILE}")):
        files = sorted(path for path in identity.parent.rglob("*") if path.name not in REWRITTEN and path.is_file())
        yield _SealedUnit(identity, files)


def _is_same(marker: Path, known: SealedFile | None) -> bool:
    return known is not None and _stat(marker) == known[:2]


def _stat(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _text_digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _digest(path: Path) -> str:
    """A digest of the content that is the same whether zeros are written or left as holes."""
    with path.open("rb", buffering=0) as file:
        handle = file.fileno()
        size = os.fstat(handle).st_size
        digest = blake2b(str(size).encode(), digest_size=16)
        for offset in _written_blocks(handle, size):
            block = os.pread(handle, BLOCK_BYTES, offset)
            if block.count(0) != len(block):
                digest.update(offset.to_bytes(8) + block)
    return digest.hexdigest()


def _written_blocks(handle: int, size: int) -> Iterator[int]:
    """Where the blocks that may contain data begin. Most of an index's files are holes."""
    offset = 0
    while offset < size:
        if hasattr(os, "SEEK_DATA"):
            try:
                offset = os.lseek(handle, offset, os.SEEK_DATA)
            except OSError:  # no data after this
                return
        offset -= offset % BLOCK_BYTES
        yield offset
        offset += BLOCK_BYTES
