"""Fetched pages → files with a manifest, each written atomically."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookwise.adapters.web.fetch import CacheValidators
from bookwise.domain.errors import StoreUnavailable

MANIFEST = "bookwise-site.json"
_OWN_FILE = re.compile(r"[0-9a-f]{32}\.html")
_PARTIAL_FILE = re.compile(r"\.(?:[0-9a-f]{32}\.html|bookwise-site\.json)\.part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the mirror."""

    file: str
    url: str  #: after redirects
    title: str
    sha256: str  #: of the stored bytes
    etag: str = ""
    last_modified: str = ""

    @property
    def validators(self) -> CacheValidators:
        return CacheValidators(url=self.url, etag=self.etag, last_modified=self.last_modified)


def file_of(url: str) -> str:
    """A file name derived from the URL alone, without any part of the URL in it."""
    return f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.html"


class MirrorFolder:
    """The mirror on disk. The manifest is the commit point: only files that it lists belong to the book."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pages(self) -> dict[str, Page]:
        """The pages of the last run whose files are unchanged, by file name."""
        try:
            manifest = json.loads((self._path / MANIFEST).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        pages = filter(None, map(_page, *_entries(manifest)))
        return {page.file: page for page in pages if self._is_intact(page)}

    def store(self, file: str, body: bytes, old: Page | None) -> str:
        """Writes a page unless its bytes are unchanged; returns the hash of its bytes."""
        sha256 = hashlib.sha256(body).hexdigest()
        if old is None or old.sha256 != sha256:
            self._replace(file, body)
        return sha256

    def commit(self, base_url: str, fetched_at: str, pages: Sequence[Page]) -> None:
        """Makes these the pages of the book, then deletes all other page files."""
        manifest = {
            "base_url": base_url,
            "fetched_at": fetched_at,
            "pages": [{"file": page.file, "url": page.url, "title": page.title} for page in pages],
            "validators": {page.file: _validators(page) for page in pages},
        }
        self._replace(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode())
        self._delete_others({page.file for page in pages})

    def _is_intact(self, page: Page) -> bool:
        try:
            return hashlib.sha256((self._path / page.file).read_bytes()).hexdigest() == page.sha256
        except OSError:
            return False

    def _replace(self, name: str, content: bytes) -> None:
        partial = self._path / f".{name}.part"
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path / name)
        except OSError as error:
            raise _write_error(self._path, error) from error

    def _delete_others(self, files: set[str]) -> None:
        try:
            for entry in self._path.iterdir():
                is_stale = _OWN_FILE.fullmatch(entry.name) and entry.name not in files
                if is_stale or _PARTIAL_FILE.fullmatch(entry.name):
                    entry.unlink()
        except OSError as error:
            raise _write_error(self._path, error) from error


def _entries(manifest: Any) -> tuple[list[Any], list[Any]]:
    pages = manifest.get("pages") if isinstance(manifest, dict) else None
    validators = manifest.get("validators") if isinstance(manifest, dict) else None
    if not isinstance(pages, list) or not isinstance(validators, dict):
        return [], []
    files = [page.get("file") if isinstance(page, dict) else None for page in pages]
    return pages, [validators.get(file) if isinstance(file, str) else None for file in files]


def _page(entry: Any, validators: Any) -> Page | None:
    if not isinstance(entry, dict) or not isinstance(validators, dict):
        return None
    values = [entry.get("file"), entry.get("url"), entry.get("title"), validators.get("sha256")]
    values += [validators.get(name, "") for name in ("etag", "last_modified")]
    if not all(isinstance(value, str) for value in values):
        return None
    file, url, title, sha256, etag, last_modified = map(str, values)
    if not _OWN_FILE.fullmatch(file):
        return None
    return Page(file=file, url=url, title=title, sha256=sha256, etag=etag, last_modified=last_modified)


def _validators(page: Page) -> dict[str, str]:
    values = {"sha256": page.sha256, "etag": page.etag, "last_modified": page.last_modified}
    return {name: value for name, value in values.items() if value}


def _write_error(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The mirror in {path} cannot be written: {error.strerror}.",
        advice="Check the permissions of the folder and the free space on its disk.",
    )
