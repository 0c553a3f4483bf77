"""Embedded lessons → readers: staged in the index, then switched over in the catalog, then swept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookwise.domain.books import Chunk, EmbeddedChunk
from bookwise.domain.jobs import LessonRecord
from bookwise.ports import Catalog, LessonIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedLesson:
    """A lesson ready to be published."""

    record: LessonRecord
    chunks: tuple[EmbeddedChunk, ...]


async def publish(lessons: Sequence[EmbeddedLesson], *, index: LessonIndex, catalog: Catalog) -> None:
    """Readers see each lesson's old revision before `activate` returns and the new one after it."""
    await index.stage([chunk for lesson in lessons for chunk in lesson.chunks])
    await catalog.activate([lesson.record for lesson in lessons])  # the commit point


async def sweep(book_id: str, *, index: LessonIndex, catalog: Catalog) -> int:
    """Removes what no reader can see; returns how many chunks. Skipping it is harmless."""
    live = await catalog.live(book_id)
    stored = await index.revisions(book_id)
    return await index.remove(book_id, [revision for revision in stored if revision not in live.revisions])


async def inherit(chunks: Sequence[Chunk], before: LessonRecord, index: LessonIndex) -> tuple[Chunk, ...]:
    """Gives chunks that were live before their age back: `created_at`, and the version they had, or the
    next one when anything about them changed."""
    stored = await index.lesson(before.book_id, before.lesson_id)
    old = {chunk.id: chunk for chunk in stored if chunk.revision == before.revision}
    return tuple(_aged(chunk, old.get(chunk.id)) for chunk in chunks)


def _aged(chunk: Chunk, old: Chunk | None) -> Chunk:
    if old is None:
        return chunk
    aged = replace(chunk, created_at=old.created_at, updated_at=old.updated_at, version=old.version)
    if _content(aged) == _content(old):
        return aged
    return replace(aged, version=old.version + 1, updated_at=chunk.updated_at)


def _content(chunk: Chunk) -> Chunk:
    """The chunk without what a new revision of its lesson changes by itself."""
    return replace(chunk, revision="", file_hash="", embedding_text="")
