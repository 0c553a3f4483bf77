"""Chunks of one section → its whole text: what chunking repeated between two chunks stands once."""

from collections.abc import AsyncIterator, Sequence

from bookwise.domain.books import Chunk
from bookwise.ports import LessonIndex

_SHORTEST_OVERLAP = 20  #: characters; fewer could be equal by chance
_LONGEST_OVERLAP = 1_500


async def section_text(chunk: Chunk, index: LessonIndex) -> str:
    """The whole section that a chunk belongs to, as Markdown."""
    before = [other async for other in _walk(chunk, index, forward=False)]
    after = [other async for other in _walk(chunk, index, forward=True)]
    return join_chunks([*reversed(before), chunk, *after])


def join_chunks(chunks: Sequence[Chunk]) -> str:
    """The text of consecutive chunks of one section."""
    text = ""
    for chunk in chunks:
        text = _joined(text, chunk.text) if text else chunk.text
    return text


async def _walk(chunk: Chunk, index: LessonIndex, *, forward: bool) -> AsyncIterator[Chunk]:
    """The chunks of the same section before or after this one, the nearest first."""
    other = await _neighbour(chunk, chunk.next_id if forward else chunk.prev_id, index)
    while other is not None and _same_section(other, chunk):
        yield other
        other = await _neighbour(other, other.next_id if forward else other.prev_id, index)


async def _neighbour(chunk: Chunk, chunk_id: str | None, index: LessonIndex) -> Chunk | None:
    """The chunk with this id in the same revision of the lesson; None when there is none, or it was swept."""
    if chunk_id is None:
        return None
    found = await index.chunk(chunk.locator.book_id, chunk_id)
    return next((other for other in found if other.revision == chunk.revision), None)


def _same_section(one: Chunk, other: Chunk) -> bool:
    return (one.locator.heading_path, one.locator.anchor) == (other.locator.heading_path, other.locator.anchor)


def _joined(text: str, following: str) -> str:
    before = text.rstrip()
    for length in range(min(len(before), len(following), _LONGEST_OVERLAP), _SHORTEST_OVERLAP, -1):
        if before.endswith(following[:length].rstrip()):
            return before + following[len(following[:length].rstrip()) :]
    return f"{before}\n\n{following}"
