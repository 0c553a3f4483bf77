"""Copies a book from one index to another, without its files and its embedder.

The source is only read. What the target already holds is the record of progress: a copy that was interrupted continues
there, lesson by lesson. Readers of the target see the book when all its chunks are stored and compared.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import sub

from bookwise.domain.books import EmbeddedChunk
from bookwise.domain.errors import Conflict, CopyMismatch
from bookwise.domain.jobs import LessonRecord
from bookwise.ports import Catalog, LessonIndex

BATCH_CHUNKS = 256
VECTOR_TOLERANCE = 1e-6  #: an engine normalises vectors, which may change the last digit of a number

OnChunks = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedBooks:
    """An index, and the catalog as this index sees it."""

    name: str  #: for messages
    index: LessonIndex
    catalog: Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class BookCopy:
    """A book that both indexes hold, chunk by chunk the same."""

    book_id: str
    lessons: int
    chunks: int
    written: int  #: chunks that the target did not hold before
    digest: str  #: SHA-256 of the ids and hashes of its chunks, in order


async def copy_book(
    book_id: str, source: IndexedBooks, target: IndexedBooks, *, replace_other: bool = False, report: OnChunks
) -> BookCopy:
    """Copies the live lessons of the book and makes them live in the target.

    Raises `Conflict` when the target holds something else of the book, unless `replace_other` is set, or when the
    source changes meanwhile; `CopyMismatch` when a chunk of the target differs from the source.
    """
    records = await source.catalog.records(book_id)
    if replace_other:
        await _remove_other(book_id, records, target)
    stored = await _require_same_lessons(book_id, records, target)
    written, digest = 0, hashlib.sha256()
    for batch in _batches(records):
        chunks = await _read_all(book_id, batch, source)
        missing = {record.revision for record in batch if stored.get(record.revision) != record.chunk_count}
        to_write = [embedded for embedded in chunks if embedded.chunk.revision in missing]
        await target.index.stage(to_write)
        written += len(to_write) + await _compare(chunks, batch, target, repair=replace_other)
        digest.update("".join(map(_line, chunks)).encode())
        report(len(chunks))
    await _activate(book_id, records, source, target)
    return BookCopy(
        book_id=book_id,
        lessons=len(records),
        chunks=sum(record.chunk_count for record in records),
        written=written,
        digest=digest.hexdigest(),
    )


async def _activate(book_id: str, records: list[LessonRecord], source: IndexedBooks, target: IndexedBooks) -> None:
    if await source.catalog.records(book_id) != records:
        raise Conflict(
            f"The book {book_id!r} was changed in {source.name} during the copy.",
            advice="Stop all ingestion of the book and run the command again.",
        )
    if await target.catalog.records(book_id) != records:
        await target.catalog.activate(records)  # the commit point


async def _require_same_lessons(book_id: str, records: list[LessonRecord], target: IndexedBooks) -> dict[str, int]:
    """The number of chunks that the target holds of each revision; raises `Conflict` if it holds other revisions."""
    live, stored = await target.catalog.records(book_id), await target.index.revisions(book_id)
    other = stored.keys() - {record.revision for record in records}
    if other or (live and live != records):
        chunks = sum(stored[revision] for revision in other)
        raise Conflict(
            f"Other data of the book {book_id!r} is already in {target.name}: {chunks} chunks are not in the source.",
            advice="Check that the target is the right one. Use --replace to replace the book there.",
        )
    return stored


async def _remove_other(book_id: str, records: list[LessonRecord], target: IndexedBooks) -> None:
    """Removes what the target holds of the book and the source does not. First its readers stop seeing the book."""
    live = await target.catalog.records(book_id)
    if live != records:
        await target.catalog.withdraw(book_id, [record.source_file for record in live])
    other = (await target.index.revisions(book_id)).keys() - {record.revision for record in records}
    await target.index.remove(book_id, sorted(other))


async def _read_all(book_id: str, batch: Sequence[LessonRecord], source: IndexedBooks) -> list[EmbeddedChunk]:
    """The chunks of these lessons; raises `CopyMismatch` when one is missing in the source itself."""
    chunks = await source.index.export(book_id, [record.revision for record in batch])
    expected = {(record.revision, chunk_id) for record in batch for chunk_id in record.chunk_ids}
    if {(embedded.chunk.revision, embedded.chunk.id) for embedded in chunks} != expected:
        raise CopyMismatch(
            f"Chunks of the book {book_id!r} are missing in {source.name}.",
            advice="Run `bookwise doctor --repair` on the source first.",
        )
    return chunks


async def _compare(
    chunks: list[EmbeddedChunk], batch: Sequence[LessonRecord], target: IndexedBooks, *, repair: bool
) -> int:
    """Reads the lessons back and compares every field and vector; returns the number of chunks that were repaired."""
    book_id, revisions = batch[0].book_id, [record.revision for record in batch]
    if _are_equal(chunks, await target.index.export(book_id, revisions)):
        return 0
    if repair:
        await target.index.remove(book_id, revisions)
        await target.index.stage(chunks)
        if _are_equal(chunks, await target.index.export(book_id, revisions)):
            return len(chunks)
    raise CopyMismatch(
        f"The copy of the book {book_id!r} in {target.name} differs from its source.",
        advice="Run the command again with --replace to write these chunks again.",
    )


def _are_equal(source: list[EmbeddedChunk], target: list[EmbeddedChunk]) -> bool:
    return len(source) == len(target) and all(map(_is_equal, source, target))


def _is_equal(one: EmbeddedChunk, other: EmbeddedChunk) -> bool:
    if replace(one, vector=()) != replace(other, vector=()) or len(one.vector) != len(other.vector):
        return False
    differences = map(abs, map(sub, one.vector, other.vector))
    return all(map(VECTOR_TOLERANCE.__ge__, differences))


def _line(embedded: EmbeddedChunk) -> str:
    chunk = embedded.chunk
    return f"{chunk.revision} {chunk.id} {chunk.content_hash}\n"


def _batches(records: Sequence[LessonRecord]) -> Iterator[list[LessonRecord]]:
    """Whole lessons, in the order of their revisions, in batches of about `BATCH_CHUNKS` chunks."""
    batch: list[LessonRecord] = []
    count = 0
    for record in sorted(records, key=lambda record: record.revision):
        batch.append(record)
        count += record.chunk_count
        if count >= BATCH_CHUNKS:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch
