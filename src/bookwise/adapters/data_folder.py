"""One process at a time in a data folder: a lock that dies with its holder, on a file that says who that is."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bookwise.domain.errors import DataFolderBusy, Misconfigured

LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """Where the service that holds a data folder listens. Whoever can read this is its operator."""

    url: str
    secret: str = field(repr=False)
    version: str


@contextmanager
def lock_data_folder(folder: Path) -> Iterator[None]:
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


def write_service_address(folder: Path, service: RunningService) -> None:
    """The holder of the folder adds to its lock file that it serves. The next holder overwrites it."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fchmod(handle, 0o600)
        _sign(handle, service=asdict(service))
    finally:
        os.close(handle)


def running_service(folder: Path) -> RunningService | None:
    """What the holder of a busy folder has announced, if it serves."""
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # only its operator may read it
        return None
    try:
        service = _holder(handle).get("service")
    finally:
        os.close(handle)
    return RunningService(**service) if service else None


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Misconfigured(
            f"The data folder {folder} cannot be used: {error.strerror}.",
            advice="Set BOOKWISE_DATA_DIR to a folder that this user may write to.",
        ) from error


def _sign(handle: int, **more: Any) -> None:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    who = {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}
    line = json.dumps(who | more).encode() + b"\n"
    os.pwrite(handle, line, 0)  # before the rest goes, so that a reader never finds less than a line
    os.ftruncate(handle, len(line))


def _holder(handle: int) -> dict[str, Any]:
    try:
        note = json.loads(os.pread(handle, 4096, 0).partition(b"\n")[0])
    except ValueError:  # the holder has not signed yet
        return {}
    return note if isinstance(note, dict) else {}


def _busy(folder: Path, holder: dict[str, Any]) -> DataFolderBusy:
    who = f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})" if holder else "a process"
    service = holder.get("service")
    return DataFolderBusy(
        f"The data folder {folder} is in use by {who}.",
        advice=f"Ask it at {service['url']}, or stop it and try again."
        if service
        else "Wait until it ends or stop it, or use another folder with BOOKWISE_DATA_DIR.",
    )
