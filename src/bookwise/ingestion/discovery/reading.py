"""A file inside a book → its bytes: regular, inside the root, whole, and not larger than allowed."""

import errno
import hashlib
import os
import stat
from pathlib import Path

from bookwise.domain.errors import BadLesson

# A pipe that took a lesson's place must not hang the open, nor a terminal become ours.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW


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
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadLesson("changed", f"{shown} is gone.", advice="Run again.") from error
    except PermissionError as error:
        raise BadLesson("permission", f"{shown} may not be read.", advice="Allow reading it.") from error
    except OSError as error:
        raise BadLesson("unreadable", f"{shown} cannot be read: {error.strerror}.") from error
    raise BadLesson("changed", f"{shown} kept changing while it was read.", advice="Run again.")


def _read_once(root: Path, relative: bytes, limit: int, shown: str) -> bytes | None:
    """The bytes, or None when they changed under the reader."""
    descriptor = _opened(os.path.realpath(os.fsencode(root)), relative, shown)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise BadLesson("not-a-file", f"{shown} is not a regular file.")
        if before.st_size > limit:
            raise _too_large(shown, before.st_size, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(limit + 1)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(raw) > limit:
        raise _too_large(shown, len(raw), limit)
    steady = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return raw if steady and len(raw) == after.st_size else None


def _opened(root: bytes, relative: bytes, shown: str) -> int:
    """A descriptor of the file. Links are resolved first and then never followed while opening, so that
    nothing can be slipped in between."""
    parts = relative.split(b"/")
    if b".." not in parts and b"" not in parts:
        try:
            return _opened_without_links(root, parts)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
    real = os.path.realpath(os.path.join(root, relative), strict=True)
    if not is_inside(real, root):
        raise BadLesson("symlink-outside", f"{shown} leads out of the book's folder.")
    return _opened_without_links(root, real.removeprefix(root).strip(b"/").split(b"/"))


def _opened_without_links(root: bytes, parts: list[bytes]) -> int:
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _too_large(shown: str, size: int, limit: int) -> BadLesson:
    return BadLesson(
        "too-large",
        f"{shown} has {size:,} bytes; the limit is {limit:,}.",
        advice="Split the lesson, or raise limits.max_file_bytes in bookwise.toml.",
    )


def is_inside(path: bytes, root: bytes) -> bool:
    """Whether a resolved path is the root or below it."""
    return path == root or path.startswith(root.rstrip(b"/") + b"/")
