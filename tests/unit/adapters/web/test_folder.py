"""The mirror on disk."""

import json
import resource
from pathlib import Path

import pytest

from bookwise.adapters.web.folder import MANIFEST, MirrorFolder, Page, file_of
from bookwise.domain.errors import StoreUnavailable


def store_page(folder: Path, url: str, body: bytes = b"<h1>Loops</h1>") -> Page:
    file = file_of(url)
    sha256 = MirrorFolder(folder).store(file, body, None)
    return Page(file=file, url=url, title="Loops", sha256=sha256, etag='"1"')


def commit(folder: Path, *pages: Page) -> None:
    MirrorFolder(folder).commit("https://lessons.example/", "2026-01-01T00:00:00+00:00", pages)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_the_manifest_says_what_each_file_is(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "mirror"
    page = store_page(folder, "https://lessons.example/a")
    commit(folder, page)
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["base_url"] == "https://lessons.example/"
    assert manifest["fetched_at"] == "2026-01-01T00:00:00+00:00"
    assert manifest["pages"] == [{"file": page.file, "url": page.url, "title": "Loops"}]
    assert MirrorFolder(folder).pages() == {page.file: page}


def test_a_file_name_tells_nothing_of_the_address(tmp_path: Path) -> None:
    hostile = file_of("https://lessons.example/../../etc/passwd\0%2e%2e")
    assert len(hostile) == 37
    assert hostile.removesuffix(".html").isalnum()
    assert file_of("https://lessons.example/a") != file_of("https://lessons.example/A")


def test_only_files_of_the_mirror_that_are_not_in_the_book_are_removed(tmp_path: Path) -> None:
    (tmp_path / "notes.html").write_text("the user's own")
    stray = store_page(tmp_path, "https://lessons.example/stray")
    (tmp_path / f".{stray.file}.part").write_bytes(b"half")
    page = store_page(tmp_path, "https://lessons.example/a")
    commit(tmp_path, page)
    assert names(tmp_path) == {"notes.html", MANIFEST, page.file}


def test_a_file_that_was_changed_or_lost_is_not_known_any_more(tmp_path: Path) -> None:
    changed, lost, whole = (store_page(tmp_path, f"https://lessons.example/{name}") for name in "abc")
    commit(tmp_path, changed, lost, whole)
    (tmp_path / changed.file).write_bytes(b"other")
    (tmp_path / lost.file).unlink()
    assert set(MirrorFolder(tmp_path).pages()) == {whole.file}


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        '{"pages": {}, "validators": {}}',
        '{"pages": [], "validators": []}',
        '{"pages": ["x", {"file": 1}, {"file": "a"}], "validators": {"a": 1}}',
        '{"pages": [{"file": "../a", "url": "u", "title": "t"}], "validators": {"../a": {"sha256": "0"}}}',
        '{"pages": [{"file": "../a", "url": "u", "title": 5}], "validators": {"../a": {"sha256": "0"}}}',
    ],
)
def test_a_damaged_manifest_is_a_first_visit(tmp_path: Path, manifest: str) -> None:
    (tmp_path / MANIFEST).write_text(manifest)
    assert MirrorFolder(tmp_path).pages() == {}


def test_the_same_bytes_are_not_written_again(tmp_path: Path) -> None:
    page = store_page(tmp_path, "https://lessons.example/a")
    before = (tmp_path / page.file).stat().st_ino
    MirrorFolder(tmp_path).store(page.file, b"<h1>Loops</h1>", page)
    assert (tmp_path / page.file).stat().st_ino == before
    MirrorFolder(tmp_path).store(page.file, b"<h1>Lists</h1>", page)
    assert (tmp_path / page.file).read_bytes() == b"<h1>Lists</h1>"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreUnavailable, match="taken cannot be written"):
        store_page(tmp_path / "taken", "https://lessons.example/a")
    page = store_page(tmp_path, "https://lessons.example/a")
    (tmp_path / file_of("https://lessons.example/b")).mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        commit(tmp_path, page)


def test_a_write_that_fails_half_way_leaves_the_old_page_and_the_old_manifest(tmp_path: Path) -> None:
    page = store_page(tmp_path, "https://lessons.example/a")
    commit(tmp_path, page)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # as if the disk were full after 100 bytes
    try:
        with pytest.raises(StoreUnavailable, match="File too large"):
            MirrorFolder(tmp_path).store(page.file, b"x" * 5_000, page)
        with pytest.raises(StoreUnavailable, match="File too large"):
            commit(tmp_path, page, page, page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert MirrorFolder(tmp_path).pages() == {page.file: page}
