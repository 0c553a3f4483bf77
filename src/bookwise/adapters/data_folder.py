"""One process at a time in a data folder: an advisory lock that dies with its holder."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bookwise.domain.errors import DataFolderBusy, Misconfigured

LOCK_FILE = "lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Holds the folder for the length of the block; `DataFolderBusy` names who has it otherwise."""
    handle = _open_lock(folder)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(folder, _holder(handle)) from None
        _sign(handle)
        yield
    finally:
        os.close(handle)


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Misconfigured(
            f"The data folder {folder} cannot be used: {error.strerror}.",
            advice="Set BOOKWISE_DATA_DIR to a folder that this user may write to.",
        ) from error


def _sign(handle: int) -> None:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    note = {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(note).encode(), 0)


def _holder(handle: int) -> dict[str, Any]:
    try:
        note = json.loads(os.pread(handle, 4096, 0))
    except ValueError:  # the holder has not signed yet
        return {}
    return note if isinstance(note, dict) else {}


def _busy(folder: Path, holder: dict[str, Any]) -> DataFolderBusy:
    who = f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})" if holder else "a process"
    return DataFolderBusy(
        f"The data folder {folder} is in use by {who}.",
        advice="Wait until it ends or stop it, or use another folder with BOOKWISE_DATA_DIR.",
    )
