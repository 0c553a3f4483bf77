"""The free space of a disk. An index in the process must never meet a full one.

The engine writes through mapped files with holes. If the disk is full when a hole is filled, the operating system ends
the process (SIGBUS). So space is checked before every write, and a reserve covers what is written until the next check.
"""

import os
from pathlib import Path

from bookwise.domain.system_errors import disk_full

#: More than one page of chunks takes in the index (8 MiB in the log, and again in the segment), the log of the database
#: and what other programs may write meanwhile.
RESERVE_BYTES = 64 * 1024 * 1024
MOUNTS = Path("/proc/self/mountinfo")
MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")


def require_space(folder: Path, needed: int = RESERVE_BYTES) -> None:
    """Raises `DiskFull` if the disk with this folder has less free space than `needed` bytes."""
    free = free_bytes(folder)
    if free < needed:
        sizes = f"{free / 1e6:,.0f} MB are free and {needed / 1e6:,.0f} MB are needed"
        raise disk_full(f"The disk is nearly full: {sizes} for {folder}.")


def free_bytes(folder: Path) -> int:
    """What this user may still write to the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.absolute().parent
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def is_in_memory(folder: Path) -> bool:
    """Whether the files in this folder are in memory. There, also reading a hole of a mapped file fills it."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    if not MOUNTS.exists():
        return False
    mounts = (line.split() for line in MOUNTS.read_text().splitlines())
    return any(fields[2] == number and fields[fields.index("-") + 1] in MEMORY_FILE_SYSTEMS for fields in mounts)
