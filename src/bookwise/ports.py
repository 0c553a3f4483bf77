"""The ports: what ingestion, retrieval and answering need from databases, indexes and models.

The docstring of a port is its contract. The suites in tests/contracts check every backend against it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:  # a search should not load the types of jobs, threads and keys
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from bookwise.domain.access import ApiKey, ApiRole
    from bookwise.domain.answers import (
        Citation,
        EngineName,
        Evidence,
        Passage,
        RelatedSection,
        SearchStarted,
        TextDelta,
        Usage,
    )
    from bookwise.domain.books import Book, Chunk, EmbeddedChunk, EmbedderFacts, Vector
    from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome, LessonRecord
    from bookwise.domain.journal import AskedQuestion, Thumb
    from bookwise.domain.search import Candidate, Filter, Live
    from bookwise.domain.threads import Thread, ThreadMessage


class Embedder(Protocol):
    """Turns texts into unit vectors of one size.

    A text always gets the same vector, alone or in a batch, as long as the fingerprint stays the same.
    Raises `EmbedderUnavailable` instead of returning a vector that is not finite, all zero or of another size.
    """

    @property
    def facts(self) -> EmbedderFacts: ...

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        """One vector per text, in order; an empty list for an empty list."""

    async def embed_query(self, text: str) -> Vector:
        """The vector to search with for this question."""


class VectorCache(Protocol):
    """Caches vectors by embedder fingerprint and hash of the embedded text."""

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The cached vectors of these hashes, bit for bit as they were stored. Missing hashes are left out."""

    async def remember(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Stores the vectors. Idempotent; a newer vector for the same text replaces the older one."""


class LessonIndex(Protocol):
    """Stores and searches the chunks of all books.

    The index does not know which revisions are live. It keeps every staged revision until `remove`, and readers must
    compare `chunk.revision` with the catalog. What a completed call has stored survives a crash.
    """

    @property
    def id(self) -> str:
        """Identity of the stored data. It changes when the data is lost or rebuilt from scratch."""

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Stores chunks durably. Idempotent; other revisions are not changed."""

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        """The `limit` best chunks by cosine and by words, without duplicates, each with both scores."""

    async def read(self, refs: Sequence[int]) -> list[Chunk | None]:
        """The chunks of these candidates, in order; None for a chunk that has been removed since."""

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        """All stored chunks of a lesson, in every revision, ordered by revision and chunk index."""

    async def chunk(self, book_id: str | None, chunk_id: str) -> list[Chunk]:
        """The stored chunks with this id, one per revision; from any book when `book_id` is None."""

    async def revisions(self, book_id: str) -> dict[str, int]:
        """The number of stored chunks per revision of a book."""

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        """Removes these revisions of the book; returns the number of removed chunks."""

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        """The words that no stored chunk of the book contains in any inflected form."""

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors of these chunks, as stored."""


class CatalogReader(Protocol):
    """The read-only part of the catalog: which books exist, and which revisions are live."""

    async def books(self) -> list[Book]:
        """All books, ordered by id."""

    async def book(self, book_id: str) -> Book:
        """The book with this id. Raises `NotFound`."""

    async def live(self, book_id: str) -> Live:
        """The live revisions of the book at this moment. Cheap enough to call for every search."""


class Catalog(CatalogReader, Protocol):
    """Stores which books exist and which revision of each lesson is live.

    `activate` and `withdraw` are the commit points of ingestion: one transaction each, durable when they return.
    """

    async def register(self, book: Book) -> None:
        """Creates or updates the book. Its lessons in any other index are forgotten: from now on readers are served
        from this index."""

    async def remove_book(self, book_id: str) -> None:
        """Removes the book and its lessons; its jobs stay. Does nothing when there is no such book."""

    async def records(self, book_id: str) -> list[LessonRecord]:
        """The live lessons of the book, ordered by source file."""

    async def activate(self, records: Sequence[LessonRecord]) -> None:
        """Makes these lessons live, all in one transaction. A live lesson of the same book with the same source file
        or lesson id is replaced. Raises `NotFound` when a book is not registered."""

    async def withdraw(self, book_id: str, source_files: Sequence[str]) -> None:
        """Removes these lessons from the live ones, all in one transaction. Unknown files are ignored."""

    async def mark_ingested(self, book_id: str, mode: IngestionMode, at: datetime) -> None:
        """Stores when the book was last ingested in this mode. Raises `NotFound`."""

    async def last_ingested(self, book_id: str) -> tuple[datetime | None, datetime | None]:
        """The time of the last full (or recreate) and of the last incremental ingest."""


class JobStore(Protocol):
    """Stores ingestion jobs and their outcomes durably.

    States: queued → running → completed or failed; queued → failed; running → queued when the process stops.
    A completed or failed job never changes again; a transition that is not allowed raises `Conflict`.
    """

    async def open(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A new queued job. Raises `JobAlreadyRunning` while the book has a queued or running job."""

    async def start(self, job_id: int) -> IngestionJob:
        """Marks a queued job as running."""

    async def progress(self, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
        """Stores the counters of a running job and appends outcomes."""

    async def finish(self, job: IngestionJob) -> IngestionJob:
        """Marks a running job as completed, with its final counters."""

    async def fail(self, job_id: int, error_message: str) -> IngestionJob:
        """Marks a queued or running job as failed."""

    async def job(self, job_id: int) -> IngestionJob:
        """The job with this id. Raises `NotFound`."""

    async def jobs(self, book_id: str | None = None, *, limit: int = 20) -> list[IngestionJob]:
        """The newest jobs first, of one book or of all."""

    async def outcomes(self, job_id: int) -> list[LessonOutcome]:
        """The stored outcomes of a job, oldest first. Raises `NotFound`."""

    async def requeue(self, job_id: int) -> IngestionJob:
        """Puts a running job back to queued for another attempt. Counters and outcomes are reset."""

    async def orphaned_jobs(self) -> list[IngestionJob]:
        """The jobs that an earlier process on this index left queued or running, oldest first."""

    async def interrupt_running(self) -> int:
        """Marks all orphaned jobs as failed; returns their number."""


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
        storage becomes live again. Raises `ThreadBusy` while another question holds the lease."""

    async def finish(self, thread_id: str, answer: ThreadMessage, *, owner: str = "") -> Thread:
        """Completes the newest answer and releases the lease. Raises `NotFound` when the thread has been deleted."""

    async def summarise(self, thread_id: str, topic_summary: str, *, owner: str = "") -> None:
        """Sets the summary, cut at a word to at most 200 characters."""

    async def history(self, thread_id: str, *, owner: str = "", limit: int = 1000) -> list[ThreadMessage]:
        """The newest `limit` messages in order, including archived ones."""

    async def remove(self, thread_id: str, *, owner: str = "") -> None:
        """Deletes the thread and its archived messages."""

    async def archive_idle(self, *, idle_seconds: float = 3600) -> int:
        """Moves threads without a message for `idle_seconds` to cold storage; returns their number."""


Retrieve: TypeAlias = Callable[[str, int, float], Awaitable[tuple["Passage", ...]]]
"""(query, top_k, similarity threshold) → passages from the book of the question. A passage that is found again keeps
its number; new passages get the next numbers."""
ReadSection: TypeAlias = Callable[["Passage"], Awaitable[str]]
"""passage → the whole section it belongs to, as Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTask:
    """The input of an engine for one answer."""

    question: str  #: as the reader typed it
    standalone: str  #: the question with its follow-up references resolved
    book: Book
    evidence: Evidence
    history: tuple[ThreadMessage, ...] = ()
    retrieve: Retrieve
    read_section: ReadSection
    temperature: float = 0.0
    max_tokens: int | None = None  #: longest answer; None: the model's own limit
    top_k: int = 5  #: passages per search, unless the engine asks for another number
    system_prompt: str | None = None  #: of the engine `agent`; None: the built-in one
    deadline: float  #: `anyio.current_time()` at which the caller stops waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The last event of an engine: usage, and how the text ended."""

    usage: Usage
    model: str = ""
    truncated: bool = False  #: the model reached its length limit or ours
    citations: tuple[
        Citation, ...
    ] = ()  #: from an engine that only quotes; the text of other engines is checked for citations
    related: tuple[RelatedSection, ...] = ()  #: from an engine that only quotes


class Answerer(Protocol):
    """Writes an answer from passages, citing them as [n] (or [Source: Page Title]).

    Yields text deltas, a `SearchStarted` for each further search, and exactly one `Written` at the end. Raises
    `ModelUnavailable`, before or after the first delta. An engine never repeats text it has already yielded.
    """

    @property
    def name(self) -> EngineName: ...

    def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]: ...


class Rewriter(Protocol):
    """Rewrites a follow-up question with a language model, so that it can be understood without its thread."""

    async def standalone(self, question: str, history: Sequence[ThreadMessage], *, deadline: float) -> str:
        """The stand-alone question. Raises `ModelUnavailable`."""


class ModelStatus(Protocol):
    """How the language model has responded so far. Costs no call."""

    @property
    def is_available(self) -> bool:
        """False while no requests are sent, because too many have failed."""

    @property
    def latency_seconds(self) -> float | None:
        """Time to the first part of the newest response; None before the first."""


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

    async def any_active(self) -> bool:
        """Whether at least one key is active."""


class Journal(Protocol):
    """Stores questions and their outcomes for the author, for 90 days."""

    async def note(self, asked: AskedQuestion) -> None:
        """Stores the question durably, unless its thread has been deleted in the meantime."""

    async def rate(self, answer_id: str, thumb: Thumb, comment: str = "", *, owner: str) -> AskedQuestion:
        """Sets the rating of an answer, replacing an earlier one. Raises `NotFound` for an answer of another owner."""

    async def asked(self, book_id: str, *, since: datetime, limit: int = 10_000) -> list[AskedQuestion]:
        """The newest `limit` questions about the book since that time, newest first."""

    async def forget(self, *, before: datetime) -> int:
        """Deletes older questions; returns their number."""


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
