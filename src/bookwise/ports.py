"""What the roads need from outside. The promise of each port is its docstring; tests/contracts holds it
against every backend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:  # a search should not wait for the words of jobs, threads and keys
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from bookwise.domain.access import ApiKey, ApiRole
    from bookwise.domain.answers import Citation, EngineName, Evidence, Passage, SearchStarted, TextDelta, Usage
    from bookwise.domain.books import Book, Chunk, EmbeddedChunk, EmbedderFacts, Vector
    from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome, LessonRecord
    from bookwise.domain.journal import AskedQuestion, Thumb
    from bookwise.domain.search import Candidate, Filter, Live
    from bookwise.domain.threads import Thread, ThreadMessage


class Embedder(Protocol):
    """Turns texts into unit vectors of one size.

    One text has one vector, alone or beside others, today or tomorrow, as long as the fingerprint stays.
    A vector that is not finite, all zero or of another size is never returned: `EmbedderUnavailable`.
    """

    @property
    def facts(self) -> EmbedderFacts: ...

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        """One vector per text, in order; an empty list for an empty list."""

    async def embed_query(self, text: str) -> Vector:
        """The vector to search with."""


class VectorCache(Protocol):
    """Remembers vectors by (embedder fingerprint, hash of the embedded text)."""

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """What is remembered of these; bit-exact as remembered."""

    async def remember(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Adds; remembering twice is once, and of two vectors for one text the newer one stays."""


class LessonIndex(Protocol):
    """Stores chunks of many books and finds them again.

    It knows nothing of what is live: it keeps every revision it was given until told to remove it, and a
    reader must compare `chunk.revision` with the catalog. A call that returned survives a crash.
    """

    @property
    def id(self) -> str:
        """Identity of this index's data; another one after the data was lost or rebuilt from nothing."""

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Stores chunks durably; staging twice is once; other revisions are untouched."""

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        """The `limit` best by cosine and the `limit` best by words, each once and with both scores."""

    async def read(self, refs: Sequence[int]) -> list[Chunk | None]:
        """The chunks behind these candidates, in order; None for what was removed meanwhile."""

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        """All stored chunks of a lesson, of every revision, by revision and chunk index."""

    async def chunk(self, book_id: str | None, chunk_id: str) -> list[Chunk]:
        """The stored chunks with this id, one per revision; of any book when `book_id` is None."""

    async def revisions(self, book_id: str) -> dict[str, int]:
        """How many chunks are stored of each revision of a book."""

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        """Removes these revisions of the book; returns how many chunks that were."""

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        """Those of these words that stand in no stored chunk of the book, whatever their ending."""

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors of these chunks, as stored."""


class CatalogReader(Protocol):
    """The reading side of the catalog: which books there are, and what readers see of them."""

    async def books(self) -> list[Book]:
        """All books, by id."""

    async def book(self, book_id: str) -> Book:
        """The book; `NotFound` when there is none."""

    async def live(self, book_id: str) -> Live:
        """The snapshot a search answers from; cheap to ask for again and again."""


class Catalog(CatalogReader, Protocol):
    """Says which books exist and which revision of each lesson readers see. `activate` and `withdraw` are
    the commit points of road one: one transaction each, durable when they return."""

    async def register(self, book: Book) -> None:
        """Creates the book or updates its facts. Lessons that another index held are forgotten: from here on
        readers are served from this one."""

    async def remove_book(self, book_id: str) -> None:
        """Forgets the book and all its lessons; its jobs stay. Removing an absent book does nothing."""

    async def records(self, book_id: str) -> list[LessonRecord]:
        """The live lessons of the book, by source file."""

    async def activate(self, records: Sequence[LessonRecord]) -> None:
        """Makes these the lessons readers see, all at once. A live lesson of the same book with the same
        source file or the same lesson id is replaced."""

    async def withdraw(self, book_id: str, source_files: Sequence[str]) -> None:
        """Takes these lessons away from readers, all at once. Unknown ones do nothing."""

    async def mark_ingested(self, book_id: str, mode: IngestionMode, at: datetime) -> None:
        """Notes when the book was last ingested in full or incrementally."""

    async def last_ingested(self, book_id: str) -> tuple[datetime | None, datetime | None]:
        """(last full or recreate, last incremental)."""


class JobStore(Protocol):
    """Keeps ingestion jobs and their outcomes, durably.

    queued → running → completed | failed, queued → failed, and running → queued when its process stops. A finished
    job never changes again.
    """

    async def open(self, book_id: str, mode: IngestionMode, source: str) -> IngestionJob:
        """A new queued job. `JobAlreadyRunning` while the book has one that is queued or running."""

    async def start(self, job_id: int) -> IngestionJob: ...

    async def progress(self, job: IngestionJob, outcomes: Sequence[LessonOutcome]) -> None:
        """Stores the counters of a running job and adds outcomes."""

    async def finish(self, job: IngestionJob) -> IngestionJob:
        """Completed, with its final counters."""

    async def fail(self, job_id: int, error_message: str) -> IngestionJob: ...

    async def job(self, job_id: int) -> IngestionJob:
        """`NotFound` when there is none."""

    async def jobs(self, book_id: str | None = None, *, limit: int = 20) -> list[IngestionJob]:
        """Newest first."""

    async def outcomes(self, job_id: int) -> list[LessonOutcome]: ...

    async def requeue(self, job_id: int) -> IngestionJob:
        """A running job back to queued for one more attempt: without counters, without outcomes."""

    async def orphaned_jobs(self) -> list[IngestionJob]:
        """What an earlier holder of this index left queued or running, oldest first."""

    async def interrupt_running(self) -> int:
        """Fails every job that an earlier holder of this index left queued or running; returns how many."""


class ThreadStore(Protocol):
    """Keeps threads, durably, apart by owner: to anyone else a thread does not exist (`NotFound`).

    The messages of a thread take turns, a user begins, and at most 50 are live; older ones are archived, never
    lost. One question at a time: `begin` writes the question and an empty, incomplete answer in one
    transaction, `finish` fills that answer in. So a crash in between leaves both, marked.
    """

    async def create(
        self, *, book_id: str, owner: str = "", thread_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Thread:
        """A new, empty thread; `Conflict` when the id is taken, whoever owns it."""

    async def thread(self, thread_id: str, *, owner: str = "") -> Thread:
        """The thread with its live messages; one in cold storage is shown the same, with `archived` set."""

    async def threads(self, *, owner: str = "", book_id: str | None = None, limit: int = 20) -> list[Thread]:
        """Most recently used first, without their messages."""

    async def begin(self, thread_id: str, question: str, *, owner: str = "", lease_seconds: float = 120) -> Thread:
        """Adds the user's message and an incomplete answer, and returns the thread as it was before both.
        Brings a thread back from cold storage. `ThreadBusy` while another question holds the lease."""

    async def finish(self, thread_id: str, answer: ThreadMessage, *, owner: str = "") -> Thread:
        """Fills in the newest answer and frees the thread. Nothing to fill in (deleted meanwhile): `NotFound`."""

    async def summarise(self, thread_id: str, topic_summary: str, *, owner: str = "") -> None:
        """Sets the summary; what is longer than 200 characters is cut at a word."""

    async def history(self, thread_id: str, *, owner: str = "", limit: int = 1000) -> list[ThreadMessage]:
        """The newest `limit` messages in order, archived ones included."""

    async def remove(self, thread_id: str, *, owner: str = "") -> None:
        """Deletes the thread with everything archived of it."""

    async def archive_idle(self, *, idle_seconds: float = 3600) -> int:
        """Moves every thread without a message for so long to cold storage; returns how many."""


Retrieve: TypeAlias = Callable[[str, int, float], Awaitable[tuple["Passage", ...]]]
"""(query, top_k, similarity threshold) → passages of the one book the question is about. A passage found
again keeps its number; new ones are numbered on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTask:
    """What an engine needs to write one answer."""

    question: str  #: as the reader asked it
    standalone: str  #: the same with its follow-up references resolved
    book: Book
    evidence: Evidence
    history: tuple[ThreadMessage, ...] = ()
    retrieve: Retrieve
    temperature: float = 0.0
    max_tokens: int | None = None  #: longest answer; None: the model's own limit
    top_k: int = 5  #: passages per search, unless the engine asks for another number
    system_prompt: str | None = None  #: of the engine `agent`; None: the built-in one
    deadline: float  #: `anyio.current_time()` after which nobody waits any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The end of an engine's text."""

    usage: Usage
    model: str = ""
    truncated: bool = False  #: the model stopped at its limit, or was stopped at ours
    citations: tuple[Citation, ...] = ()  #: of an engine that only quotes; what another one wrote is checked


class Answerer(Protocol):
    """Writes an answer from passages, citing them as [n] (or [Source: Page Title]).

    Streams pieces of text, says when it searches on, and ends with exactly one `Written`. What goes wrong is
    `ModelUnavailable`, before or after the first piece; an engine never repeats a piece it has given.
    """

    @property
    def name(self) -> EngineName: ...

    def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]: ...


class Rewriter(Protocol):
    """Makes a follow-up understandable without its thread, with a language model."""

    async def standalone(self, question: str, history: Sequence[ThreadMessage], *, deadline: float) -> str:
        """The question as a stand-alone one; `ModelUnavailable` when the model cannot say."""


class KeyStore(Protocol):
    """Keeps API keys, durably; of a secret only a hash, so that nobody can read it back."""

    async def create(
        self,
        name: str,
        role: ApiRole,
        *,
        books: Sequence[str] = (),
        origins: Sequence[str] = (),
        rate_per_minute: int = 100,
    ) -> tuple[ApiKey, str]:
        """A new key, and its secret, which is shown this once."""

    async def keys(self) -> list[ApiKey]:
        """All keys, revoked ones too, oldest first."""

    async def key(self, secret: str) -> ApiKey | None:
        """The key with this secret; None when there is none or it is revoked."""

    async def revoke(self, key_id: str) -> ApiKey:
        """The key no longer works, from now on; `NotFound` when there is none."""

    async def rotate(self, key_id: str, *, grace_seconds: float = 0) -> tuple[ApiKey, str]:
        """The same key (id, role, books, what it owns) with a new secret. The old one works for the grace period;
        one that was rotated out before does not."""

    async def any_active(self) -> bool:
        """Whether at least one key works."""


class Journal(Protocol):
    """Keeps what readers asked and what became of it, for the author; for 90 days."""

    async def note(self, asked: AskedQuestion) -> None:
        """Keeps it, durably. A thread that is gone by now takes the note with it: nothing is kept."""

    async def rate(self, answer_id: str, thumb: Thumb, comment: str = "", *, owner: str) -> AskedQuestion:
        """The note with the rating, which replaces an earlier one. `NotFound` unless this owner asked."""

    async def asked(self, book_id: str, *, since: datetime, limit: int = 10_000) -> list[AskedQuestion]:
        """The newest `limit` notes about the book from that moment on, newest first."""

    async def forget(self, *, before: datetime) -> int:
        """Removes older notes; returns how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResponse:
    """A response as it was sent, to be sent again."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ResponseStore(Protocol):
    """Keeps responses under the idempotency keys of their owners, for a day."""

    async def claim(self, owner: str, key: str, fingerprint: str, *, lease_seconds: float) -> KeptResponse | None:
        """None: the request is the claimant's to run, and nobody else's for so long. The response of the same
        request, when it is kept. `RequestRunning` while it runs, `RequestMismatch` when the key belongs to a request
        with another fingerprint."""

    async def keep(self, owner: str, key: str, response: KeptResponse) -> None:
        """Keeps the response of a claimed request."""

    async def release(self, owner: str, key: str) -> None:
        """The claimed request came to no response; the next one with this key runs."""

    async def forget(self, *, before: datetime) -> int:
        """Removes what was claimed earlier; returns how many."""
