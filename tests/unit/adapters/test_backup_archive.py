"""An archive of files: complete, checked, and never written outside of its folder."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookwise.adapters.backup_archive import (
    ArchivedBook,
    ArchiveFacts,
    Manifest,
    extract_archive,
    read_manifest,
    write_archive,
)
from bookwise.domain.errors import DamagedData, Misconfigured, NotFound

FACTS = ArchiveFacts(
    version="1.2.3",
    created_at="2026-01-02T03:04:05+00:00",
    books=(ArchivedBook(id="robots", title="Robots", lessons=2, chunks=3),),
)
MIB = 1024 * 1024


def ignore(count: int) -> None:
    pass


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A full file, an empty one, and one with data at both ends of a hole."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "full").write_bytes(os.urandom(200_000))
    (folder / "empty").write_bytes(b"")
    with (folder / "sparse").open("wb") as sparse:
        sparse.write(b"begins")
        sparse.seek(64 * MIB)
        sparse.write(b"ends")
        sparse.truncate(65 * MIB + 5)
    return {"bookwise.db": folder / "full", "index/a/empty": folder / "empty", "index/a/sparse": folder / "sparse"}


@pytest.fixture
def archive(tmp_path: Path, files: dict[str, Path]) -> Path:
    write_archive(tmp_path / "kept.zip", files, FACTS, ignore)
    return tmp_path / "kept.zip"


def extracted(archive: Path, folder: Path) -> Manifest:
    manifest = read_manifest(archive)
    extract_archive(archive, manifest, folder, ignore)
    return manifest


def test_the_files_come_back_with_their_holes(archive: Path, files: dict[str, Path], tmp_path: Path) -> None:
    manifest = extracted(archive, tmp_path / "new")
    assert manifest.facts == FACTS
    for name, path in files.items():
        assert (tmp_path / "new" / name).read_bytes() == path.read_bytes()
    assert (tmp_path / "new" / "index/a/sparse").stat().st_blocks * 512 < MIB
    assert archive.stat().st_size < MIB
    assert manifest.data_bytes < MIB


def test_progress_counts_the_bytes_with_data(tmp_path: Path, files: dict[str, Path]) -> None:
    counts: list[int] = []
    manifest = write_archive(tmp_path / "kept.zip", files, FACTS, counts.append)
    assert sum(counts) == manifest.data_bytes
    counts.clear()
    extract_archive(tmp_path / "kept.zip", manifest, tmp_path / "new", counts.append)
    assert sum(counts) == manifest.data_bytes


def test_an_existing_file_is_not_replaced(archive: Path, files: dict[str, Path]) -> None:
    with pytest.raises(FileExistsError):
        write_archive(archive, files, FACTS, ignore)


@pytest.mark.parametrize("cut", [0, 2, 1000, -1, -40])
def test_an_incomplete_archive_is_refused(archive: Path, tmp_path: Path, cut: int) -> None:
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(DamagedData, match="not a complete backup"):
        read_manifest(archive)


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"absent\.zip"):
        read_manifest(tmp_path / "absent.zip")


@pytest.mark.parametrize("position", [2_000, 100_000, 199_000])
def test_a_changed_byte_is_noticed(archive: Path, tmp_path: Path, position: int) -> None:
    content = bytearray(archive.read_bytes())
    content[position] ^= 1
    archive.write_bytes(content)
    with pytest.raises(DamagedData, match=r"cannot be read|checksum"):
        extracted(archive, tmp_path / "new")


def rewritten(archive: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The archive with other members, each valid for a ZIP reader."""
    target = archive.with_name("changed.zip")
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)
    return target


def with_manifest(archive: Path, **changes: Any) -> Path:
    def change(name: str, content: bytes) -> bytes:
        return json.dumps(json.loads(content) | changes).encode() if name == "manifest.json" else content

    return rewritten(archive, change)


@pytest.mark.parametrize(
    ("member", "content", "says"),
    [
        ("manifest.json", None, "not a complete backup"),
        ("manifest.json", b"[]", "not valid"),
        ("manifest.json", b"{", "not a complete backup"),
        ("manifest.json", b"x" * (17 * MIB), "too large"),
        ("bookwise.db", None, "cannot be read"),
        ("bookwise.db", b"other", "checksum"),
        ("index/a/empty", b"more than it should be", "checksum"),
    ],
)
def test_a_member_that_does_not_fit_the_manifest_is_refused(
    archive: Path, tmp_path: Path, member: str, content: bytes | None, says: str
) -> None:
    changed = rewritten(archive, lambda name, old: content if name == member else old)
    with pytest.raises(DamagedData, match=says):
        extracted(changed, tmp_path / "new")


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "index/../../escaped", "", "a\\b", "a\0b"])
def test_a_name_outside_of_the_folder_is_refused(archive: Path, tmp_path: Path, name: str) -> None:
    entry = {"name": name, "size": 1, "parts": [[0, 1]], "sha256": "0"}
    with pytest.raises(DamagedData, match="outside"):
        extracted(with_manifest(archive, files=[entry]), tmp_path / "new")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("parts", [[[0, 2]], [[-1, 1]], [[1, 1]], [[0, 0]], [[0, 1], [0, 1]], [["a", 1]], [[0]], 1])
def test_parts_outside_of_the_file_are_refused(archive: Path, tmp_path: Path, parts: object) -> None:
    entry = {"name": "bookwise.db", "size": 1, "parts": parts, "sha256": "0"}
    with pytest.raises(DamagedData, match="not valid"):
        extracted(with_manifest(archive, files=[entry]), tmp_path / "new")


def test_an_archive_of_a_newer_version_is_refused(archive: Path) -> None:
    with pytest.raises(Misconfigured, match="newer version"):
        read_manifest(with_manifest(archive, format=2))
