"""Books: embedding their texts, searching their chunks, and which revisions are live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a search should not load the types of jobs, threads and keys
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bookwise.domain.books import Book, Chunk, EmbeddedChunk, EmbedderFacts, Vector
    from bookwise.domain.jobs import IngestionMode, LessonRecord
    from bookwise.domain.search import Candidate, Filter, Live


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


class Reranker(Protocol):
    """Scores texts by how well they answer a question. A higher score is better; the scale is the model's own."""

    @property
    def name(self) -> str: ...

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One finite score per text, in order; an empty list for an empty list. Raises `RerankerUnavailable` instead of
        returning anything else."""


class VectorCache(Protocol):
    """Caches vectors by embedder fingerprint and hash of the embedded text."""

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The cached vectors of these hashes, bit for bit as they were stored. Missing hashes are left
        out, and so are vectors that are no longer what was stored."""

    async def remember(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Stores the vectors. Idempotent; a newer vector for the same text replaces the older one."""

    async def forget_unused(self) -> int:
        """Deletes the oldest vectors of texts that are in no live lesson, beyond as many as there are live chunks (at
        least 1,000), so that undoing an edit stays fast; returns their number."""


class LessonIndex(Protocol):
    """Stores and searches the chunks of all books.

    The index does not know which revisions are live. It keeps every staged revision until `remove`, and readers must
    compare `chunk.revision` with the catalog. What a completed call has stored survives a crash. A chunk that is no
    longer what was stored is never returned: it is left out as if it had been removed, and logged.
    """

    @property
    def id(self) -> str:
        """Identity of the stored data. It changes when the data is lost or rebuilt from scratch."""

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Stores chunks durably. Idempotent; other revisions are not changed."""

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        """The `limit` best chunks by cosine and by words, without duplicates, each with both scores."""

    async def read(self, book_id: str, refs: Sequence[int]) -> list[Chunk | None]:
        """The chunks of these candidates from one book, in order; None for a chunk that has been removed since."""

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        """All stored chunks of a lesson, in every revision, ordered by revision and chunk index."""

    async def chunk(self, book_id: str, chunk_id: str) -> list[Chunk]:
        """The stored chunks with this id, one per revision."""

    async def revisions(self, book_id: str) -> dict[str, int]:
        """The number of stored chunks per revision of a book."""

    async def verify(self, book_id: str) -> dict[str, int]:
        """The number of undamaged chunks per revision of a book. Reads everything: fields, vectors and words."""

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        """Removes these revisions of the book; returns the number of removed chunks."""

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        """The words that no stored chunk of the book contains in any inflected form."""

    async def check(self) -> None:
        """Raises `IndexUnavailable` or what else a search would raise now, whatever the book."""

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors of these chunks, as stored."""

    async def export(self, book_id: str, revisions: Sequence[str]) -> list[EmbeddedChunk]:
        """The stored chunks of these revisions with their vectors, ordered by revision and chunk index. Staging them
        in another index gives the same search results. Only the text they were embedded from is not stored."""


class CatalogReader(Protocol):
    """The read-only part of the catalog: which books exist, and which revisions are live."""

    async def books(self) -> list[Book]:
        """All books, ordered by id."""

    async def book(self, book_id: str) -> Book:
        """The book with this id. Raises `NotFound`."""

    async def live(self, book_id: str) -> Live:
        """The live revisions of the book at this moment. Cheap enough to call for every search."""

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        """The ids of the books that have a live lesson with this chunk: at most one, unless a book was copied."""


class Catalog(CatalogReader, Protocol):
    """Stores which books exist and which revision of each lesson is live.

    `activate` and `withdraw` are the commit points of ingestion: one transaction each, durable when they return.
    """

    async def register(self, book: Book) -> None:
        """Creates or updates the book. Its lessons in any other index are forgotten: from now on readers are served
        from this index."""

    async def require_own_folder(self, book_id: str) -> None:
        """Raises `CollectionMismatch` when lessons of the book are in another data folder, and none in this index."""

    async def remove_book(self, book_id: str) -> None:
        """Removes the book and its lessons; its jobs stay. Does nothing when there is no such book."""

    async def live_chunks(self, book_id: str) -> Mapping[str, int]:
        """The number of chunks per live revision."""

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
