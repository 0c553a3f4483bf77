"""Locks a data folder for one process. The lock file names its holder, and the lock ends with the process."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bookwise.adapters.private_files import make_private, private_umask
from bookwise.adapters.seal import sealed
from bookwise.domain.errors import BookwiseError, DataFolderBusy, Misconfigured
from bookwise.domain.system_errors import system_error

LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """Address and secret of the service that holds a data folder. Only its operator can read them."""

    url: str
    secret: str = field(repr=False)
    version: str


@contextmanager
def lock_data_folder(folder: Path, *, writes: bool = True) -> Iterator[None]:
    """Locks the folder for the duration of the block. Other users can neither read it nor what is written meanwhile.

    `writes=False` promises that the block changes neither the database nor the index.

    `DataFolderBusy` names the process that holds the lock; `Misconfigured` if the folder cannot be written or locked;
    `DiskFull` if there is no space for the lock file.
    """
    handle = _open_lock(folder)
    try:
        _lock(handle, folder)
        make_private(folder)
        with private_umask(), sealed(folder) if writes else nullcontext():
            yield
    finally:
        os.close(handle)


def write_service_address(folder: Path, service: RunningService) -> None:
    """Adds the service address to the lock file. Only the holder of the lock may call this."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fchmod(handle, 0o600)
        _write_holder(handle, service=asdict(service))
    finally:
        os.close(handle)


def running_service(folder: Path) -> RunningService | None:
    """The address of the service that holds the folder; None if the holder is not a service."""
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # absent, or readable by another user only
        return None
    try:
        service = _read_holder(handle).get("service")
    finally:
        os.close(handle)
    return RunningService(**service) if service else None


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_holder(handle)
    except BlockingIOError:
        raise _busy_error(folder, _read_holder(handle)) from None
    except OSError as error:
        raise _unusable_error(folder, error) from error


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable_error(folder, error) from error


def _unusable_error(folder: Path, error: OSError) -> BookwiseError:
    return system_error(error, f"the data folder {folder}") or Misconfigured(
        f"The data folder {folder} cannot be used: {error.strerror}.",
        advice="Set BOOKWISE_DATA_DIR to a folder that this user can write to.",
    )


def _write_holder(handle: int, **extra: Any) -> None:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    holder = {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}
    line = json.dumps(holder | extra).encode() + b"\n"
    os.pwrite(handle, line, 0)  # before truncating, so that a reader always finds a complete line
    os.ftruncate(handle, len(line))


def _read_holder(handle: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(handle, 4096, 0).partition(b"\n")[0])
    except ValueError:  # the holder has not written its entry yet
        return {}
    return holder if isinstance(holder, dict) else {}


def _busy_error(folder: Path, holder: dict[str, Any]) -> DataFolderBusy:
    process = (
        f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})" if holder else "another process"
    )
    service = holder.get("service")
    return DataFolderBusy(
        f"The data folder {folder} is in use by {process}.",
        advice=f"Send requests to {service['url']}, or stop that process and try again."
        if service
        else "Wait until it ends, stop it, or set BOOKWISE_DATA_DIR to another folder.",
    )
