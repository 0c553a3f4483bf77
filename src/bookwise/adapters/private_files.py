"""Closes a data folder and its files to the other users of the machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

PRIVATE_UMASK = 0o077
OWN_NAMES = frozenset({"lock", "seal.json", "index", "damaged", "sites", "cache"})
DATABASE_PREFIX = "bookwise.db"  #: also of the files that SQLite adds

logger = logging.getLogger(__name__)

_lock = Lock()
_open_blocks = 0
_usual_umask = 0


@contextmanager
def private_umask() -> Iterator[None]:
    """Every file that this process creates inside the block is for its own user only.

    The libraries of the database and of the index create their files themselves, so the rule is set for the process.
    """
    global _open_blocks, _usual_umask
    with _lock:
        if _open_blocks == 0:
            _usual_umask = os.umask(PRIVATE_UMASK)
        _open_blocks += 1
    try:
        yield
    finally:
        with _lock:
            _open_blocks -= 1
            if _open_blocks == 0:
                os.umask(_usual_umask)


def make_private(folder: Path) -> None:
    """Closes what Bookwise has stored in the folder; the folder too, unless it contains something else."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    own = [entry for entry in entries if entry.name in OWN_NAMES or entry.name.startswith(DATABASE_PREFIX)]
    if len(own) == len(entries):
        _close(folder, folder.stat().st_mode)
    for entry in own:
        _close_tree(entry)
    if len(own) == len(entries) and _is_open(folder.stat().st_mode):
        logger.warning("Other users can read the data folder %s. Run `chmod 700` on it.", folder)


def _close_tree(entry: os.DirEntry[str]) -> None:
    """Closes a folder after its content, so that an interrupted run is repeated. Links are not followed."""
    mode = entry.stat(follow_symlinks=False).st_mode
    if entry.is_symlink() or not _is_open(mode):
        return
    if entry.is_dir(follow_symlinks=False):
        with os.scandir(entry.path) as listing:
            for inner in listing:
                _close_tree(inner)
    _close(entry.path, mode)


def _close(path: str | Path, mode: int) -> None:
    if _is_open(mode):
        with suppress(OSError):  # it belongs to another user, or has no permissions
            os.chmod(path, mode & 0o700)


def _is_open(mode: int) -> bool:
    return bool(mode & PRIVATE_UMASK)
