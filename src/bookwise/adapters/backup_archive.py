"""Files ↔ one ZIP archive with a manifest: the name, the size and the SHA-256 of each file.

Most of an index's files are holes, so the archive contains only the parts of a file that hold data. The manifest is
written last, so an interrupted backup is never taken for a complete one.
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias

from bookwise.adapters.sparse_files import data_blocks
from bookwise.domain.errors import DamagedData, Misconfigured, NotFound

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 16 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
COMPRESSION = 1  #: of 9; higher levels take several times as long and save a tenth

OnBytes: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """A file in an archive."""

    name: str  #: path below the data folder
    size: int  #: with its holes
    parts: tuple[tuple[int, int], ...]  #: offset and length of each part with data, in their order in the archive
    sha256: str  #: of all parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedBook:
    """A book in an archive."""

    id: str
    title: str
    lessons: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFacts:
    """What made an archive, when, and of which books."""

    version: str  #: of Bookwise
    created_at: str
    books: tuple[ArchivedBook, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of an archive."""

    format: int
    facts: ArchiveFacts
    files: tuple[ArchivedFile, ...]

    @property
    def data_bytes(self) -> int:
        """Bytes of all files, without their holes."""
        return sum(length for file in self.files for _, length in file.parts)


def write_archive(target: Path, files: Mapping[str, Path], facts: ArchiveFacts, on_bytes: OnBytes) -> Manifest:
    """Writes the files under the given names. The archive is on the disk when this returns."""
    with target.open("xb") as output:
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive:
            added = tuple(_add(archive, name, path, on_bytes) for name, path in sorted(files.items()))
            manifest = Manifest(format=FORMAT, facts=facts, files=added)
            archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
        output.flush()
        os.fsync(output.fileno())
    return manifest


def _add(archive: zipfile.ZipFile, name: str, path: Path, on_bytes: OnBytes) -> ArchivedFile:
    parts, digest = list[tuple[int, int]](), sha256()
    with path.open("rb", buffering=0) as source, archive.open(name, "w", force_zip64=True) as member:
        size = os.fstat(source.fileno()).st_size
        for offset, block in data_blocks(source.fileno(), size):
            member.write(block)
            digest.update(block)
            _add_part(parts, offset, len(block))
            on_bytes(len(block))
    return ArchivedFile(name=name, size=size, parts=tuple(parts), sha256=digest.hexdigest())


def _add_part(parts: list[tuple[int, int]], offset: int, length: int) -> None:
    if parts and sum(parts[-1]) == offset:
        offset, before = parts.pop()
        length += before
    parts.append((offset, length))


def read_manifest(file: Path) -> Manifest:
    """The manifest of an archive. Raises `NotFound`, `DamagedData`, or `Misconfigured` if a newer version made it."""
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES_MAX:
                raise _damaged(file, "its manifest is too large")
            stored = json.loads(archive.read(MANIFEST))
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.", advice="Name a file that `bookwise backup` has written.") from None
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
        raise _damaged(file, "it is not a complete backup") from error
    if not isinstance(stored, dict) or not isinstance(stored.get("format"), int):
        raise _damaged(file, "its manifest is not valid")
    if stored["format"] > FORMAT:
        raise Misconfigured(
            f"A newer version of Bookwise has written {file}.", advice="Install that version, then restore the backup."
        )
    return _manifest(file, stored)


def _manifest(file: Path, stored: dict[str, Any]) -> Manifest:
    try:
        facts = stored["facts"]
        books = tuple(ArchivedBook(**book) for book in facts["books"])
        files = tuple(_archived_file(entry) for entry in stored["files"])
        manifest = Manifest(format=stored["format"], facts=ArchiveFacts(**(facts | {"books": books})), files=files)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(file, "its manifest is not valid") from error
    if not all(_is_inside(entry.name) for entry in files):
        raise _damaged(file, "it names files outside of a data folder")
    return manifest


def _archived_file(entry: dict[str, Any]) -> ArchivedFile:
    """Raises `ValueError` unless the parts follow each other inside the file."""
    file = ArchivedFile(**(entry | {"parts": tuple((int(offset), int(length)) for offset, length in entry["parts"])}))
    end = 0
    for offset, length in file.parts:
        if not (end <= offset and 0 < length <= file.size - offset):
            raise ValueError(file.name)
        end = offset + length
    return file


def _is_inside(name: str) -> bool:
    """Whether a name stays below the folder it is extracted to."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name and "\0" not in name


def extract_archive(file: Path, manifest: Manifest, folder: Path, on_bytes: OnBytes) -> None:
    """Writes the files of the manifest below `folder`. Raises `DamagedData` if one differs from the manifest."""
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in manifest.files:
                _extract(archive, entry, folder / entry.name, on_bytes)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(file, "a file in it cannot be read") from error
    except _Different as different:
        raise _damaged(file, f"{different} differs from its checksum") from None


class _Different(Exception):
    """A file of an archive is not what its manifest says."""


def _extract(archive: zipfile.ZipFile, entry: ArchivedFile, target: Path, on_bytes: OnBytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = sha256()
    with archive.open(entry.name) as member, target.open("xb") as output:
        for offset, length in entry.parts:
            output.seek(offset)
            for block in _blocks(member, length):
                digest.update(block)
                output.write(block)
                on_bytes(len(block))
        output.truncate(entry.size)
        output.flush()
        os.fsync(output.fileno())
        digest.update(member.read(1))  # there must be nothing more
    if digest.hexdigest() != entry.sha256:
        raise _Different(entry.name)


def _blocks(source: IO[bytes], left: int) -> Iterator[bytes]:
    while left and (block := source.read(min(left, BLOCK_BYTES))):
        left -= len(block)
        yield block


def _damaged(file: Path, reason: str) -> DamagedData:
    return DamagedData(f"The backup {file} cannot be used: {reason}.", advice="Use another backup.")
