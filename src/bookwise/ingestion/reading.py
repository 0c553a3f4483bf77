"""A file inside a book → its bytes: regular, inside the root, whole, and not larger than allowed."""

import hashlib
import os
import stat
from pathlib import Path

from bookwise.domain.errors import BadLesson

# A FIFO that took a lesson's place must not hang the open, nor a terminal become ours.
_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
) | getattr(os, "O_BINARY", 0)


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def read_inside(root: Path, relative: bytes, limit: int) -> bytes:
    """The bytes of a file of the book; a file that changes while it is read is read once more."""
    shown = relative.decode("utf-8", "backslashreplace")
    try:
        for _ in range(2):
            raw = _read_once(root, relative, limit, shown)
            if raw is not None:
                return raw
    except FileNotFoundError as error:
        raise BadLesson("changed", f"{shown} is gone.", advice="Run again.") from error
    except PermissionError as error:
        raise BadLesson("permission", f"{shown} may not be read.", advice="Allow reading it.") from error
    except OSError as error:
        raise BadLesson("unreadable", f"{shown} cannot be read: {error.strerror}.") from error
    raise BadLesson("changed", f"{shown} kept changing while it was read.", advice="Run again.")


def _read_once(root: Path, relative: bytes, limit: int, shown: str) -> bytes | None:
    """The bytes, or None when they changed under the reader."""
    real_root = os.path.realpath(os.fsencode(root))
    real = os.path.realpath(os.path.join(real_root, relative), strict=True)
    if not is_inside(real, real_root):
        raise BadLesson("symlink-outside", f"{shown} leads out of the book's folder.")
    descriptor = os.open(real, _OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise BadLesson("not-a-file", f"{shown} is not a regular file.")
        if before.st_size > limit:
            raise _too_large(shown, before.st_size, limit)
        raw = file.read(limit + 1)
        after = os.fstat(file.fileno())
    # A folder on the way may have become a link after it was resolved.
    if os.path.realpath(real) != real:
        return None
    if len(raw) > limit:
        raise _too_large(shown, len(raw), limit)
    steady = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return raw if steady and len(raw) == after.st_size else None


def _too_large(shown: str, size: int, limit: int) -> BadLesson:
    return BadLesson(
        "too-large",
        f"{shown} has {size:,} bytes; the limit is {limit:,}.",
        advice="Split the lesson, or raise limits.max_file_bytes in bookwise.toml.",
    )


def is_inside(path: bytes, root: bytes) -> bool:
    """Whether a resolved path is the root or below it."""
    return path == root or path.startswith(root.rstrip(b"/") + b"/")
