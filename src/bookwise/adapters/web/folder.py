"""Fetched pages into files beside a manifest, each replaced whole or not at all."""

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
_HALF_FILE = re.compile(r"\.(?:[0-9a-f]{32}\.html|bookwise-site\.json)\.part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the mirror."""

    file: str
    url: str  #: where it was found, after redirects
    title: str
    sha256: str  #: of the bytes kept
    etag: str = ""
    last_modified: str = ""

    @property
    def known(self) -> CacheValidators:
        return CacheValidators(url=self.url, etag=self.etag, last_modified=self.last_modified)


def file_of(url: str) -> str:
    """A file name that depends on the address alone and holds nothing of it."""
    return f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.html"


class MirrorFolder:
    """The mirror on disk. The manifest is its commit point: what it does not name is not part of the book."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pages(self) -> dict[str, Page]:
        """The pages of the last visit whose files are as they were left, by file name."""
        try:
            manifest = json.loads((self._path / MANIFEST).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        found = filter(None, map(_page, *_entries(manifest)))
        return {page.file: page for page in found if self._is_intact(page)}

    def keep(self, file: str, body: bytes, old: Page | None) -> str:
        """Puts a page in place unless it is there already; returns the hash of its bytes."""
        sha256 = hashlib.sha256(body).hexdigest()
        if old is None or old.sha256 != sha256:
            self._replace(file, body)
        return sha256

    def commit(self, base_url: str, fetched_at: str, pages: Sequence[Page]) -> None:
        """Makes these the pages of the book, then removes the files of all others."""
        manifest = {
            "base_url": base_url,
            "fetched_at": fetched_at,
            "pages": [{"file": page.file, "url": page.url, "title": page.title} for page in pages],
            "validators": {page.file: _validators(page) for page in pages},
        }
        self._replace(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode())
        self._remove_all_but({page.file for page in pages})

    def _is_intact(self, page: Page) -> bool:
        try:
            return hashlib.sha256((self._path / page.file).read_bytes()).hexdigest() == page.sha256
        except OSError:
            return False

    def _replace(self, name: str, content: bytes) -> None:
        half = self._path / f".{name}.part"
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            with half.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            half.replace(self._path / name)
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def _remove_all_but(self, kept: set[str]) -> None:
        try:
            for entry in self._path.iterdir():
                own = _OWN_FILE.fullmatch(entry.name) and entry.name not in kept
                if own or _HALF_FILE.fullmatch(entry.name):
                    entry.unlink()
        except OSError as error:
            raise _cannot_write(self._path, error) from error


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
    given = [entry.get("file"), entry.get("url"), entry.get("title"), validators.get("sha256")]
    given += [validators.get(name, "") for name in ("etag", "last_modified")]
    if not all(isinstance(value, str) for value in given):
        return None
    file, url, title, sha256, etag, last_modified = map(str, given)
    if not _OWN_FILE.fullmatch(file):
        return None
    return Page(file=file, url=url, title=title, sha256=sha256, etag=etag, last_modified=last_modified)


def _validators(page: Page) -> dict[str, str]:
    given = {"sha256": page.sha256, "etag": page.etag, "last_modified": page.last_modified}
    return {name: value for name, value in given.items() if value}


def _cannot_write(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The mirror in {path} cannot be written: {error.strerror}.",
        advice="Check the folder's permissions and the free space on its disk.",
    )
