"""Real file systems of a few megabytes, to be filled up. Mounting one needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

MIB = 1024 * 1024
BLOCK = 4096

DiskKind = Literal["ext4", "tmpfs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """A mounted file system."""

    folder: Path

    @property
    def free(self) -> int:
        state = os.statvfs(self.folder)
        return state.f_bavail * state.f_frsize

    def fill(self, *, leave: int) -> None:
        """Takes all space but `leave` bytes."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            handle, start = ballast.fileno(), ballast.tell()
            if self.free > leave + 2 * MIB:
                os.posix_fallocate(handle, start, self.free - leave - 2 * MIB)
            with suppress(OSError):  # the last blocks are for records of the file system
                while self.free - leave >= BLOCK:
                    os.pwrite(handle, b"\0" * BLOCK, os.fstat(handle).st_size)
            os.fsync(handle)

    def empty(self) -> None:
        """Gives the space back."""
        (self.folder / "ballast").unlink(missing_ok=True)

    def resize(self, megabytes: int) -> None:
        """Only for a tmpfs."""
        _run("mount", "-o", f"remount,size={megabytes}m", str(self.folder))


@contextmanager
def small_disk(kind: DiskKind, base: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """A file system of this size, mounted below `base`. Skips the test where none can be mounted."""
    folder = base / kind
    folder.mkdir()
    try:
        _mount(kind, folder, megabytes)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"NOT TESTED: a small {kind} file system cannot be mounted here (needs root): {error}")
    try:
        yield SmallDisk(folder=folder)
    finally:
        _run("umount", "--lazy", str(folder))


def _mount(kind: DiskKind, folder: Path, megabytes: int) -> None:
    if kind == "tmpfs":
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
        return
    image = folder.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(megabytes * MIB)
    _run("mkfs.ext4", "-q", "-m", "0", str(image))
    _run("mount", "-o", "loop", str(image), str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
