"""Error family → exit code."""

from bookwise.domain.errors import (
    BookwiseError,
    Conflict,
    Denied,
    DiskError,
    DiskFull,
    InvalidInput,
    Misconfigured,
    NotFound,
    Unavailable,
)

OK = 0
SOME_FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130

BY_FAMILY: dict[type[BookwiseError], int] = {
    InvalidInput: USAGE,
    NotFound: 3,
    Denied: 3,
    Conflict: 4,
    DiskFull: 6,  # the operator must act, unlike with the rest of its family
    DiskError: 6,
    Unavailable: 5,
    Misconfigured: 6,
}


def exit_code(error: BookwiseError) -> int:
    """The exit code of the error's family."""
    for family, code in BY_FAMILY.items():
        if isinstance(error, family):
            return code
    return BUG
