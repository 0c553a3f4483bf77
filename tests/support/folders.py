"""Small folders of files for tests, and a reader without privileges."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bookwise.ingestion.discover import Discovery, discover

BASE = "https://b.example/docs/"


def written(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """The folder with these files below it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def found(root: Path, files: Mapping[str, str | bytes]) -> Discovery:
    """What is discovered in a folder with these files."""
    return discover(written(root, files))


def names(discovery: Discovery) -> list[str]:
    return [file.source_file for file in discovery.files]


def urls(discovery: Discovery) -> dict[str, str]:
    return {file.source_file: file.url for file in discovery.files}


def rules(discovery: Discovery) -> dict[str, str]:
    return {left.source_file: left.rule for left in discovery.left_out}


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that any user may enter, unlike those of the test runner."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    try:
        yield path
    finally:
        for folder, _, files in os.walk(path):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                os.chmod(name, 0o700)
        shutil.rmtree(path)


@contextmanager
def without_privileges() -> Iterator[None]:
    """File modes hold for the code inside, also where the tests are run by root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
