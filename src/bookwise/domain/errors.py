"""The errors of Bookwise, in families by who can fix them.

BookwiseError
├── InvalidInput         the caller: fix the request
│   ├── BadSource          the folder or site cannot be read as a book
│   ├── BadLesson          one lesson cannot be read; the job continues
│   └── RequestMismatch    the idempotency key belongs to another request
├── NotFound             the caller: name something that exists
│   └── SourceNotFound     the folder does not exist or cannot be read
├── Conflict             wait, or ask the operator
│   ├── DataFolderBusy     another process uses the data folder
│   ├── JobAlreadyRunning  this book is being ingested
│   ├── StepLost           another worker has taken this part of a job over, or the job has ended
│   ├── EmbedderMismatch   the book was indexed with another embedder
│   ├── CollectionMismatch the book was indexed in another collection
│   ├── CopyMismatch       a copy differs from its source
│   ├── ThreadBusy         the thread's last question is still being answered
│   └── RequestRunning     the same request is still running
├── Unavailable          try again later
│   ├── EmbedderUnavailable
│   ├── RerankerUnavailable  never shown: the search continues without it
│   ├── IndexUnavailable
│   ├── StoreUnavailable
│   │   ├── DiskFull         the operator: free some space
│   │   └── DiskError        the operator: the disk fails
│   ├── OutOfMemory
│   ├── TooManyOpenFiles
│   ├── ModelUnavailable   the language model is unreachable or returned an invalid response
│   └── Overloaded         the service has more to do than it can
├── Denied               the caller: use another key
│   ├── Unauthenticated    no valid key
│   ├── Forbidden          the key's role does not allow it
│   │   └── ForbiddenOrigin  the key is bound to other sites
│   └── TooManyRequests    the rate limit of the key is reached
└── Misconfigured        the operator: a setting, a key, a damaged or missing file
    ├── MissingModel
    ├── IndexVersionMismatch
    └── DamagedData

A message says what happened to what; `advice` says what to do. The API and the CLI choose status and exit codes by
family.
"""


class BookwiseError(Exception):
    """Base class of all errors that Bookwise raises deliberately."""

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
    """The request is invalid."""


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
    """The requested object does not exist."""


class SourceNotFound(NotFound):
    """The folder to ingest does not exist, is not a folder, or cannot be read."""


class Conflict(BookwiseError):
    """The request conflicts with the current state."""


class DataFolderBusy(Conflict):
    """Another process uses the data folder."""


class JobAlreadyRunning(Conflict):
    """Another job is ingesting the book."""


class StepLost(Conflict):
    """Another worker has taken this part of a job over, or the job has ended."""


class EmbedderMismatch(Conflict):
    """The book was indexed with a different embedder than the configured one."""


class CollectionMismatch(Conflict):
    """The book was indexed in another collection than the one configured."""


class CopyMismatch(Conflict):
    """A copy differs from its source, or the source is incomplete."""


class Busy(Conflict):
    """The same is being done already. `retry_after` is the time to wait, in seconds; None when it is unknown."""

    def __init__(self, message: str, *, advice: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, advice=advice)
        self.retry_after = retry_after


class ThreadBusy(Busy):
    """The thread's last question is still being answered."""


class RequestRunning(Busy):
    """A request with the same idempotency key is still running."""


class Unavailable(BookwiseError):
    """A dependency is unavailable; trying again later may help."""


class EmbedderUnavailable(Unavailable):
    """The embedding service is unreachable or returned an invalid response."""


class RerankerUnavailable(Unavailable):
    """The reranker failed, timed out or returned invalid scores. A search then keeps its own order."""


class IndexUnavailable(Unavailable):
    """The index is unavailable."""


class StoreUnavailable(Unavailable):
    """The database is unavailable."""


class DiskFull(StoreUnavailable):
    """The disk is full, or nearly."""


class DiskError(StoreUnavailable):
    """The disk failed to read or write."""


class OutOfMemory(Unavailable):
    """There is not enough memory."""


class TooManyOpenFiles(Unavailable):
    """The process, or the system, has reached its limit of open files."""


class ModelUnavailable(Unavailable):
    """The language model is unreachable or returned an invalid response.

    `reason` is a stable slug such as `rate-limited`.
    """

    def __init__(self, reason: str, message: str, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.reason = reason


class Overloaded(Unavailable):
    """The service has more to do than it can. `retry_after` is the time until its queue is done, in seconds."""

    def __init__(self, message: str, *, advice: str = "", retry_after: float = 5.0) -> None:
        super().__init__(message, advice=advice)
        self.retry_after = retry_after


class Denied(BookwiseError):
    """The caller is not allowed to do this."""


class Unauthenticated(Denied):
    """The request has no valid key."""


class Forbidden(Denied):
    """The key is valid, but its role does not allow this."""


class ForbiddenOrigin(Forbidden):
    """The key is valid, but not on the site that sends the request."""


class TooManyRequests(Denied):
    """The rate limit of the key is reached. `retry_after` is the time to wait, in seconds."""

    def __init__(self, message: str, *, advice: str = "", retry_after: float = 60.0) -> None:
        super().__init__(message, advice=advice)
        self.retry_after = retry_after


class Misconfigured(BookwiseError):
    """A setting is missing, unknown or out of range."""


class MissingModel(Misconfigured):
    """The files of the embedding model are missing or damaged."""


class IndexVersionMismatch(Misconfigured):
    """Another version of Bookwise wrote the index, and this one cannot read it."""


class DamagedData(Misconfigured):
    """The data folder contains data that cannot be read."""
