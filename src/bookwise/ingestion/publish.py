"""Makes embedded lessons live: store the chunks, switch the catalog over, remove old chunks. The order matters."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from bookwise.domain.books import Chunk, EmbeddedChunk
from bookwise.domain.jobs import LessonRecord
from bookwise.ports import Catalog, LessonIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedLesson:
    """A lesson that is ready to be published."""

    record: LessonRecord
    chunks: tuple[EmbeddedChunk, ...]


async def publish(lessons: Sequence[EmbeddedLesson], *, index: LessonIndex, catalog: Catalog) -> None:
    """Makes the lessons live. Readers see the old revisions until `activate` commits, and the new ones after it."""
    await index.stage([chunk for lesson in lessons for chunk in lesson.chunks])
    await catalog.activate([lesson.record for lesson in lessons])  # the commit point


async def _no_check() -> None:
    pass


async def sweep(
    book_id: str,
    *,
    index: LessonIndex,
    catalog: Catalog,
    before_removal: Callable[[], Awaitable[None]] = _no_check,
) -> int:
    """Removes chunks of revisions that are not live; returns their number. Skipping a sweep is harmless.

    What is stored is read first: a revision that goes live meanwhile is then not removed. `before_removal` raises when
    this process may no longer change the book.
    """
    stored = await index.revisions(book_id)
    live = await catalog.live(book_id)
    await before_removal()
    return await index.remove(book_id, [revision for revision in stored if revision not in live.revisions])


async def inherit(chunks: Sequence[Chunk], previous: LessonRecord, index: LessonIndex) -> tuple[Chunk, ...]:
    """Carries `created_at` and `version` over from the previous revision of the lesson. The version grows by one when
    the text is the same but something else about the chunk changed."""
    stored = await index.lesson(previous.book_id, previous.lesson_id)
    old_chunks = {chunk.id: chunk for chunk in stored if chunk.revision == previous.revision}
    return tuple(_with_version(chunk, old_chunks.get(chunk.id)) for chunk in chunks)


def _with_version(chunk: Chunk, old: Chunk | None) -> Chunk:
    if old is None:
        return chunk
    same_version = replace(chunk, created_at=old.created_at, updated_at=old.updated_at, version=old.version)
    if _content(same_version) == _content(old):
        return same_version
    return replace(same_version, version=old.version + 1, updated_at=chunk.updated_at)


def _content(chunk: Chunk) -> Chunk:
    """The chunk without the fields that every new revision of its lesson changes."""
    return replace(chunk, revision="", file_hash="", embedding_text="")
