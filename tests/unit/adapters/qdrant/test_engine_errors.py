"""Why an index cannot be opened or written: each cause has its own error, and only a lost index is to be deleted."""

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import qdrant_edge as qdrant

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.qdrant.engine_errors import engine_errors, opening_errors
from bookwise.adapters.qdrant.shard import BOOK_FILE
from bookwise.cli.exit_codes import exit_code
from bookwise.domain import errors
from tests.support.builders import chunks, embedded

pytestmark = pytest.mark.anyio

NORTH = (0.0, 1.0)
RUST = "Service runtime error: failed to load segment segments/1: IO Error: {} (os error {})"
RUST_LOG = 'Service runtime error: failed to open WAL wal: Can\'t init WAL: Os {{ code: {1}, kind: X, message: "{0}" }}'


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    async with open_index(tmp_path / "index", size=2) as index:
        await index.stage(embedded(chunks("loops", "r1", "A topic."), NORTH))
    return tmp_path / "index"


def book_folder(folder: Path) -> Path:
    (found,) = folder.glob("books/*")
    return found


def overwrite(folder: Path, name: str, text: str) -> None:
    """A file of every segment."""
    paths = list(folder.glob(f"books/*/segments/*/{name}"))
    assert paths
    for path in paths:
        path.write_text(text)


async def opening_error(folder: Path) -> errors.BookwiseError:
    with pytest.raises(errors.BookwiseError) as caught:
        async with open_index(folder, size=2):
            pass
    return caught.value


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOSPC, errors.DiskFull, 6),
        (errno.EDQUOT, errors.DiskFull, 6),
        (errno.EIO, errors.DiskError, 6),
        (errno.ENOMEM, errors.OutOfMemory, 5),
        (errno.EMFILE, errors.TooManyOpenFiles, 5),
        (errno.ENFILE, errors.TooManyOpenFiles, 5),
        (errno.ENOLCK, errors.Misconfigured, 6),
        (errno.EACCES, errors.Misconfigured, 6),
    ],
)
@pytest.mark.parametrize("form", ["python", RUST, RUST_LOG])
def test_what_the_system_reports_has_its_own_error(
    number: int, kind: type[errors.BookwiseError], code: int, form: str, tmp_path: Path
) -> None:
    text = os.strerror(number)
    raised = OSError(number, text) if form == "python" else Exception(form.format(text, number))
    for translation in (opening_errors(tmp_path), engine_errors()):
        with pytest.raises(errors.BookwiseError) as caught, translation:
            raise raised
        assert type(caught.value) is kind
        assert exit_code(caught.value) == code
        assert caught.value.advice
        assert "Delete" not in caught.value.advice


def test_an_exhausted_python_is_out_of_memory(tmp_path: Path) -> None:
    with pytest.raises(errors.OutOfMemory), opening_errors(tmp_path):
        raise MemoryError


async def test_an_index_that_another_process_has_open_is_busy(folder: Path) -> None:
    engine = qdrant.EdgeShard.load(str(book_folder(folder)), None)
    error = await opening_error(folder)
    engine.close()
    assert type(error) is errors.DataFolderBusy
    assert exit_code(error) == 4


async def test_an_index_of_a_newer_version_is_left_alone(folder: Path) -> None:
    overwrite(folder, "version.info", "99.0.0")
    error = await opening_error(folder)
    assert type(error) is errors.IndexVersionMismatch
    assert "newer" in error.message
    assert exit_code(error) == 6


async def test_an_index_of_an_older_version_that_cannot_be_read_says_which(folder: Path) -> None:
    identity = book_folder(folder) / BOOK_FILE
    identity.write_text(json.dumps(json.loads(identity.read_text()) | {"engine": "0.0.1"}))
    overwrite(folder, "segment.json", "{}")
    error = await opening_error(folder)
    assert type(error) is errors.IndexVersionMismatch
    assert "0.0.1" in error.message


async def test_only_a_lost_index_is_to_be_deleted(folder: Path) -> None:
    overwrite(folder, "segment.json", "{}")
    error = await opening_error(folder)
    assert type(error) is errors.DamagedData
    assert f"Delete {book_folder(folder)} and run" in error.advice


async def test_a_process_without_free_file_handles_says_so(folder: Path) -> None:
    with no_file_handles():
        error = await opening_error(folder)
    assert type(error) is errors.TooManyOpenFiles
    async with open_index(folder, size=2) as index:
        assert await index.revisions("book") == {"r1": 1}


@contextmanager
def no_file_handles() -> Iterator[None]:
    """All file handles that the process may have are in use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    taken: list[int] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for handle in taken:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
