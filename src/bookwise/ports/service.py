"""What the service stores about its callers: threads, keys, limits, questions and responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # a search should not load the types of jobs, threads and keys
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from bookwise.domain.access import ApiKey, ApiRole, Caller
    from bookwise.domain.journal import AskedQuestion, Mark, Thumb
    from bookwise.domain.rate_limits import RateState
    from bookwise.domain.threads import Thread, ThreadMessage, ThreadPage
    from bookwise.domain.validation_runs import ValidationRun


class ThreadStore(Protocol):
    """Stores threads durably. For anyone but its owner, a thread does not exist (`NotFound`).

    User and assistant messages alternate, starting with the user. At most 50 are live; older ones are archived, not
    deleted. A thread has one open question at a time: `begin` stores the question and an empty, incomplete answer
    in one transaction, and `finish` completes the answer. After a crash in between, the answer stays marked incomplete.
    """

    async def create(
        self, *, book_id: str, owner: str = "", thread_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Thread:
        """A new, empty thread. Raises `Conflict` when the id is in use by any owner."""

    async def thread(self, thread_id: str, *, owner: str = "") -> Thread:
        """The thread with its live messages; for a thread in cold storage, `archived` is set."""

    async def threads(self, *, owner: str = "", book_id: str | None = None, limit: int = 20) -> list[Thread]:
        """Threads without their messages, most recently used first."""

    async def begin(self, thread_id: str, question: str, *, owner: str = "", lease_seconds: float = 120) -> Thread:
        """Adds the user's message and an incomplete answer; returns the thread without these two. A thread in cold
        storage becomes live again. Raises `ThreadBusy` while another question holds the lease: until it is finished,
        for at most `lease_seconds`."""

    async def finish(
        self, thread_id: str, answer: ThreadMessage, *, owner: str = "", position: int | None = None
    ) -> Thread:
        """Completes the answer to the question at this position (None: the newest), and releases its lease. Raises
        `NotFound` when the thread has been deleted, or the question has been answered."""

    async def renew(self) -> None:
        """Renews the leases of this process. A process must call this every `RENEWAL_SECONDS` while it answers; the
        threads of one that does not are free after `LEASE_SECONDS`."""

    async def summarise(self, thread_id: str, topic_summary: str, *, owner: str = "") -> None:
        """Sets the summary, cut at a word to at most 200 characters."""

    async def history(self, thread_id: str, *, owner: str = "", limit: int = 1000) -> list[ThreadMessage]:
        """The newest `limit` messages in order, including archived ones."""

    async def page(self, thread_id: str, *, owner: str = "", offset: int = 0, limit: int = 50) -> ThreadPage:
        """Up to `limit` messages after the oldest `offset` ones, including archived ones. Reads only these."""

    async def remove(self, thread_id: str, *, owner: str = "") -> None:
        """Deletes the thread and its archived messages."""

    async def archive_idle(self, *, idle_seconds: float = 3600) -> int:
        """Moves threads without a message for `idle_seconds` to cold storage, in batches; returns their number."""

    async def remove_idle(self, *, idle_seconds: float) -> int:
        """Deletes threads without a message for `idle_seconds`, in batches; returns their number."""


class KeyStore(Protocol):
    """Stores API keys durably. Only a hash of each secret is stored, so a secret cannot be recovered."""

    async def create(
        self,
        name: str,
        role: ApiRole,
        *,
        books: Sequence[str] = (),
        origins: Sequence[str] = (),
        rate_per_minute: int = 100,
    ) -> tuple[ApiKey, str]:
        """A new key and its secret. The secret cannot be read again."""

    async def keys(self) -> list[ApiKey]:
        """All keys including revoked ones, oldest first."""

    async def key(self, secret: str) -> ApiKey | None:
        """The active key with this secret, or None."""

    async def revoke(self, key_id: str) -> ApiKey:
        """Deactivates the key at once. Raises `NotFound`."""

    async def rotate(self, key_id: str, *, grace_seconds: float = 0) -> tuple[ApiKey, str]:
        """The same key (id, role, books, ownership) with a new secret. The previous secret works until the grace period
        ends; older secrets stop working at once."""

    async def any_ever(self) -> bool:
        """Whether a key was ever created, also if all are revoked now."""


class KeyChanges(Protocol):
    """Notices changes of API keys that any process has made."""

    def watch(self) -> AsyncGenerator[None]:
        """Yields at the start if there are keys, and within about a second of each change or, while the database was
        unavailable, of its return."""


class RateLimits(Protocol):
    """Limits the requests and the open streams of callers, in all processes that share a database together.

    The window slides: no period of 60 seconds contains more requests than the rate. A request counts for at most 1 %
    longer than that. A caller without a limit is always admitted.
    """

    async def admit(self, caller: Caller) -> RateState:
        """Counts a request. Raises `TooManyRequests`, without counting it, when the limit is reached."""

    def stream(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """Counts a stream while the block runs. Raises `TooManyRequests` when the limit is reached."""

    async def maintain(self) -> None:
        """Keeps the open streams counted, and deletes what no longer counts. A process must call this every
        `MAINTENANCE_SECONDS`; the streams of one that does not are freed after `LEASE_SECONDS`."""


class Journal(Protocol):
    """Stores questions and their outcomes for the author, for at most 90 days."""

    async def note(self, question: AskedQuestion) -> None:
        """Stores the question durably, unless its thread has been deleted in the meantime."""

    async def rate(self, answer_id: str, thumb: Thumb, comment: str = "", *, owner: str) -> AskedQuestion:
        """Sets the rating of an answer, replacing an earlier one. Raises `NotFound` for an answer of another owner."""

    async def mark(self, book_id: str, answer_ids: Sequence[str], mark: Mark | None) -> int:
        """Sets the author's mark on these questions of the book, None: open again; returns their number. Ids of other
        books and unknown ids are ignored."""

    async def question(self, answer_id: str) -> AskedQuestion:
        """One question. Raises `NotFound`."""

    async def questions(self, book_id: str, *, since: datetime, limit: int = 10_000) -> list[AskedQuestion]:
        """The newest `limit` questions about the book since that time, newest first."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes older questions; returns their number."""


class ValidationStore(Protocol):
    """Stores the results of validation runs durably: the newest 500 of each book."""

    async def add(self, run: ValidationRun) -> None:
        """Stores the run, and deletes the oldest ones of its book that are too many."""

    async def runs(self, book_id: str, *, limit: int = 100) -> list[ValidationRun]:
        """The newest `limit` runs of the book, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResponse:
    """An HTTP response that can be sent again."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ResponseStore(Protocol):
    """Stores responses by owner and idempotency key, for one day."""

    async def claim(self, owner: str, key: str, fingerprint: str, *, lease_seconds: float) -> KeptResponse | None:
        """The stored response of this request. None means that the caller must run the request now and has it reserved
        for `lease_seconds`. Raises `RequestRunning` while another caller runs it, and `RequestMismatch` when the key
        was used for a request with another fingerprint."""

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        """Stores the response of a claimed request."""

    async def release(self, owner: str, key: str) -> None:
        """Gives up a claim without a response; the next request with this key runs."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes older claims and responses; returns their number."""

    async def forget_session(self, owner: str, session_id: str) -> int:
        """Deletes the owner's responses that mention this session, a UUID; returns their number."""


class DeliveryStore(Protocol):
    """Stores which webhook deliveries were handled, for one year."""

    async def claim(self, delivery_id: str) -> bool:
        """True for the first caller: it must handle the delivery, then keep or release it. Another may claim it after a
        minute without either."""

    async def keep(self, delivery_id: str) -> None:
        """Records that a claimed delivery was handled."""

    async def release(self, delivery_id: str) -> None:
        """Gives up a delivery that could not be handled; it may come again."""

    async def newest(self) -> datetime | None:
        """When the newest delivery was claimed; None when none is stored."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes older records; returns their number."""
