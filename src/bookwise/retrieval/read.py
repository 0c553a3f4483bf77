"""Lesson id → all chunks of the lesson; chunk id → the chunk with its neighbours."""

from dataclasses import dataclass

from bookwise.domain.books import Chunk
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.ports import CatalogReader, LessonIndex

NEIGHBOURS_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """A chunk with the chunks before and after it in its lesson, in reading order."""

    chunk: Chunk
    before: tuple[Chunk, ...]
    after: tuple[Chunk, ...]


async def lesson(book_id: str, lesson_id: str, *, index: LessonIndex, catalog: CatalogReader) -> tuple[Chunk, ...]:
    """All live chunks of a lesson, in order. Raises `NotFound` when there are none."""
    chunks = await _live_lesson(book_id, lesson_id, index=index, catalog=catalog)
    if not chunks:
        raise NotFound(
            f"Book {book_id!r} has no lesson {lesson_id}.",
            advice="`bookwise search --json` shows lesson ids.",
        )
    return chunks


async def context(
    book_id: str | None, chunk_id: str, *, before: int, after: int, index: LessonIndex, catalog: CatalogReader
) -> Neighbourhood:
    """The chunk with up to `before` and `after` neighbours from the same lesson; from any book if `book_id` is None.

    Raises `InvalidInput` for a number outside 0–10 and `NotFound` when no live lesson has the chunk.
    """
    for name, number in (("before", before), ("after", after)):
        if not 0 <= number <= NEIGHBOURS_MAX:
            raise InvalidInput(f"{name} is {number}; it must be between 0 and {NEIGHBOURS_MAX}.")
    for book in [book_id] if book_id else await catalog.books_with_chunk(chunk_id):
        for chunk in await index.chunk(book, chunk_id):
            live = await catalog.live(book)
            if chunk.revision in live.revisions:
                chunks = await _live_lesson(book, chunk.lesson_id, index=index, catalog=catalog)
                return Neighbourhood(
                    chunk=chunk,
                    before=tuple(other for other in chunks if chunk.index - before <= other.index < chunk.index),
                    after=tuple(other for other in chunks if chunk.index < other.index <= chunk.index + after),
                )
    raise NotFound(
        f"There is no chunk {chunk_id}.", advice="Its lesson may have been changed or removed. Search again."
    )


async def _live_lesson(
    book_id: str, lesson_id: str, *, index: LessonIndex, catalog: CatalogReader
) -> tuple[Chunk, ...]:
    live = await catalog.live(book_id)
    chunks = await index.lesson(book_id, lesson_id)
    return tuple(chunk for chunk in chunks if chunk.revision in live.revisions)
