"""Exceptions of Qdrant's engine → Bookwise errors. Deleting an index is advised only if it is lost."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bookwise.adapters.qdrant.collections import BOOK_FILE, IDENTITY_FILE
from bookwise.domain.errors import (
    BookwiseError,
    DamagedData,
    DataFolderBusy,
    IndexUnavailable,
    IndexVersionMismatch,
)
from bookwise.domain.system_errors import system_error

ENGINE = "qdrant-edge-py"

_LOCKED = "WouldBlock"
_NEWER = re.compile(r"Data version \S+ is newer than application version")


def opening_errors(folder: Path) -> AbstractContextManager[None]:
    """Turns errors while opening the index in `folder` into the error that says what to do."""
    return _translating(partial(_opening_error, folder=folder))


def engine_errors() -> AbstractContextManager[None]:
    """Turns errors of an open engine into `IndexUnavailable`, or into what the operating system reported."""
    return _translating(_operation_error)


@contextmanager
def _translating(translate: Callable[[BaseException], BookwiseError]) -> Iterator[None]:
    try:
        yield
    except BookwiseError:
        raise
    except BaseException as error:
        if not _is_engine_error(error):
            raise
        raise translate(error) from error


def _operation_error(error: BaseException) -> BookwiseError:
    return system_error(error, "the index") or IndexUnavailable(
        f"The index rejected the operation: {error}",
        advice="Run `bookwise doctor` to compare the index with the book.",
    )


def _opening_error(error: BaseException, folder: Path) -> BookwiseError:
    subject = f"the index in {folder}"
    if _LOCKED in str(error):
        return DataFolderBusy(
            f"{subject.capitalize()} is open in another process.", advice="Stop that process and try again."
        )
    if _NEWER.search(str(error)):
        return IndexVersionMismatch(
            f"{subject.capitalize()} was written by a newer version of Bookwise.",
            advice="Use that version, or set BOOKWISE_DATA_DIR to another folder and ingest the books again.",
        )
    return system_error(error, subject) or _version_error(folder) or _damage(error, folder)


def _version_error(folder: Path) -> IndexVersionMismatch | None:
    """If another version of the engine created the index, which this one cannot open."""
    created, installed = _created_by(folder), version(ENGINE)
    if created in ("", installed):
        return None
    return IndexVersionMismatch(
        f"The index in {folder} was created by version {created} of {ENGINE}; version {installed} cannot open it.",
        advice=f"Use the earlier version of Bookwise, or move {folder} away and run `bookwise ingest` again.",
    )


def _created_by(folder: Path) -> str:
    identity = folder / BOOK_FILE
    if not identity.exists():
        identity = folder / IDENTITY_FILE
    try:
        return str(json.loads(identity.read_text(encoding="utf-8")).get("engine", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _damage(error: BaseException, folder: Path) -> DamagedData:
    return DamagedData(
        f"The index in {folder} cannot be opened: {error}",
        advice=f"Delete {folder} and run `bookwise ingest` again. Threads and jobs are kept.",
    )


def _is_engine_error(error: BaseException) -> bool:
    """The engine raises plain `Exception`, and its panics are not even a subclass of that."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
