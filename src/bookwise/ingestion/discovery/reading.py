"""A file of a book → its bytes. Only regular files inside the root and within the size limit are read."""

import errno
import hashlib
import os
import stat
from pathlib import Path

from bookwise.domain.errors import BadLesson

# If the lesson was replaced by a pipe, opening it must not block; a terminal must not become the controlling one.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW


def sha256(raw: bytes) -> str:
    """SHA-256 of the bytes, in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def read_inside(root: Path, relative: bytes, limit: int) -> bytes:
    """The bytes of a file. A file that changes while it is being read is read once more. Raises `BadLesson`."""
    name = relative.decode("utf-8", "backslashreplace")
    try:
        for _ in range(2):
            raw = _read_once(root, relative, limit, name)
            if raw is not None:
                return raw
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadLesson("changed", f"{name} no longer exists.", advice="Run the command again.") from error
    except PermissionError as error:
        raise BadLesson("permission", f"No permission to read {name}.", advice="Change its permissions.") from error
    except OSError as error:
        raise BadLesson("unreadable", f"{name} cannot be read: {error.strerror}.") from error
    raise BadLesson("changed", f"{name} kept changing while it was read.", advice="Run the command again.")


def _read_once(root: Path, relative: bytes, limit: int, name: str) -> bytes | None:
    """The bytes, or None when the file changed while it was read."""
    descriptor = _open_file(os.path.realpath(os.fsencode(root)), relative, name)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise BadLesson("not-a-file", f"{name} is not a regular file.")
        if before.st_size > limit:
            raise _too_large(name, before.st_size, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(limit + 1)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(raw) > limit:
        raise _too_large(name, len(raw), limit)
    unchanged = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return raw if unchanged and len(raw) == after.st_size else None


def _open_file(root: bytes, relative: bytes, name: str) -> int:
    """A file descriptor. Links are resolved and checked first and not followed while opening, so that a link cannot be
    swapped in between."""
    parts = relative.split(b"/")
    if b".." not in parts and b"" not in parts:
        try:
            return _open_without_links(root, parts)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
    real = os.path.realpath(os.path.join(root, relative), strict=True)
    if not is_inside(real, root):
        raise BadLesson("symlink-outside", f"{name} links to a file outside the book's folder.")
    return _open_without_links(root, real.removeprefix(root).strip(b"/").split(b"/"))


def _open_without_links(root: bytes, parts: list[bytes]) -> int:
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _too_large(name: str, size: int, limit: int) -> BadLesson:
    return BadLesson(
        "too-large",
        f"{name} has {size:,} bytes; the limit is {limit:,}.",
        advice="Split the lesson, or raise limits.max_file_bytes in bookwise.toml.",
    )


def is_inside(path: bytes, root: bytes) -> bool:
    """Whether a resolved path is the root or below it."""
    return path == root or path.startswith(root.rstrip(b"/") + b"/")
