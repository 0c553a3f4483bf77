"""What can go wrong, in families named after who can repair it.

BookwiseError
├── InvalidInput         the caller: fix the request
│   ├── BadSource          the folder or site cannot be read as a book
│   ├── BadLesson          one lesson cannot be read; the rest of the book goes on
│   └── RequestMismatch    the idempotency key belongs to another request
├── NotFound             the caller: name something that exists
│   └── SourceNotFound     there is no such folder, or it may not be read
├── Conflict             wait, or ask the operator
│   ├── DataFolderBusy     another process holds the data folder
│   ├── JobAlreadyRunning  this book is being ingested
│   ├── EmbedderMismatch   the book was indexed with another embedder
│   ├── CollectionMismatch the book was indexed in another collection
│   ├── ThreadBusy         the thread's last question is still being answered
│   └── RequestRunning     the same request is still running
├── Unavailable          try again later
│   ├── EmbedderUnavailable
│   ├── IndexUnavailable
│   ├── StoreUnavailable
│   │   └── DiskFull
│   └── ModelUnavailable   the language model does not answer, or answers nonsense
├── Denied               the caller, with another key
│   ├── Unauthenticated    no key, or none that works
│   ├── Forbidden          the key's role does not allow it
│   └── TooManyRequests    the key's rate is used up
└── Misconfigured        the operator: a setting, a key, a damaged or missing file
    ├── MissingModel
    └── DamagedData

Every error says what happened, to what, and what to do next. HTTP status and exit codes are decided at
the edges, by family.
"""


class BookwiseError(Exception):
    """Base of all errors that Bookwise raises on purpose."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    @property
    def code(self) -> str:
        """A stable, machine-readable name: `DataFolderBusy` → `data-folder-busy`."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class InvalidInput(BookwiseError):
    """The request itself is wrong."""


class BadSource(InvalidInput):
    """The folder or site cannot be read as a book."""


class BadLesson(InvalidInput):
    """One lesson cannot be read. `reason` is a stable slug such as `encoding` or `front-matter`."""

    def __init__(self, reason: str, message: str, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.reason = reason


class RequestMismatch(InvalidInput):
    """The idempotency key was used for another request."""


class NotFound(BookwiseError):
    """What was named does not exist."""


class SourceNotFound(NotFound):
    """The folder to ingest is not there, is no folder, or may not be read."""


class Conflict(BookwiseError):
    """Something else is in the way."""


class DataFolderBusy(Conflict):
    """Another process holds the data folder."""


class JobAlreadyRunning(Conflict):
    """The book is being ingested by another job."""


class EmbedderMismatch(Conflict):
    """The book was indexed with another embedder than the one configured."""


class CollectionMismatch(Conflict):
    """The book was indexed in another collection than the one configured."""


class ThreadBusy(Conflict):
    """The thread's last question is still being answered."""


class RequestRunning(Conflict):
    """A request with the same idempotency key is still running."""


class Unavailable(BookwiseError):
    """A dependency does not answer now; trying again may help."""


class EmbedderUnavailable(Unavailable):
    """The embedding service does not answer, or answers nonsense."""


class IndexUnavailable(Unavailable):
    """The index cannot serve now."""


class StoreUnavailable(Unavailable):
    """The database cannot serve now."""


class DiskFull(StoreUnavailable):
    """There is no room left for what should be stored."""


class ModelUnavailable(Unavailable):
    """The language model does not answer, or answers nonsense. `reason` is a stable slug such as `rate-limited`."""

    def __init__(self, reason: str, message: str, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.reason = reason


class Denied(BookwiseError):
    """The caller may not do this."""


class Unauthenticated(Denied):
    """No key, or none that works."""


class Forbidden(Denied):
    """The key works, but its role does not allow this."""


class TooManyRequests(Denied):
    """The key's rate is used up. `retry_after` says when to come back, in seconds."""

    def __init__(self, message: str, *, advice: str = "", retry_after: float = 60.0) -> None:
        super().__init__(message, advice=advice)
        self.retry_after = retry_after


class Misconfigured(BookwiseError):
    """A setting is missing, unknown or out of range."""


class MissingModel(Misconfigured):
    """The embedding model's files are absent or damaged."""


class DamagedData(Misconfigured):
    """The data folder holds something that cannot be read."""
