"""Failures of the operating system → Bookwise errors: a full or failing disk, no memory, no free file handle."""

import errno
import re

from bookwise.domain.errors import (
    BookwiseError,
    DiskError,
    DiskFull,
    Misconfigured,
    OutOfMemory,
    TooManyOpenFiles,
)

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_HANDLE = (errno.EMFILE, errno.ENFILE)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
#: How libraries written in Rust show the number of a system error.
_NUMBER = re.compile(r"os error (\d+)|\bcode: (\d+), kind: ")


def system_error(error: BaseException, subject: str) -> BookwiseError | None:
    """The error for a failure of the operating system while `subject` was used; None for any other exception."""
    number = _error_number(error)
    if number in _FULL:
        return disk_full(f"The disk is full: {subject} cannot be written.")
    if number == errno.ENOMEM:
        return OutOfMemory(
            f"There is not enough memory for {subject}.", advice="Close other programs or use a larger machine."
        )
    if number in _NO_HANDLE:
        return TooManyOpenFiles(
            f"Too many files are open: {subject} cannot be opened.",
            advice="Raise the limit, for example with `ulimit -n 4096`, and try again.",
        )
    if number == errno.EIO:
        return DiskError(
            f"The disk failed to read or write {subject}.",
            advice="Check the disk and the system log. Do not delete anything: the data may be intact.",
        )
    if number == errno.ENOLCK:
        return Misconfigured(
            f"The file system does not support locks, which {subject} needs.",
            advice="Set BOOKWISE_DATA_DIR to a folder on a local disk.",
        )
    if number in _NOT_ALLOWED:
        return Misconfigured(
            f"This user may not read or write {subject}.",
            advice="Check owner and permissions, or set BOOKWISE_DATA_DIR to another folder.",
        )
    return None


def disk_full(message: str) -> DiskFull:
    return DiskFull(message, advice="Free some disk space and try again. Stored data is safe.")


def _error_number(error: BaseException) -> int | None:
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if isinstance(error, OSError):
        return error.errno
    found = _NUMBER.search(str(error))
    return int(found[1] or found[2]) if found else None
