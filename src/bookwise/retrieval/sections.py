"""A chunk → the text of its section: the overlap of two chunks is shown once."""

from collections.abc import Sequence
from functools import partial

from bookwise.domain.books import Chunk
from bookwise.ports import LessonIndex
from bookwise.retrieval.concurrency import concurrently

_SHORTEST_OVERLAP = 20  #: characters; fewer could be equal by chance
_LONGEST_OVERLAP = 1_500

NEIGHBOURS_READ = 6  #: chunks read before and after; a section of more than 13 chunks is far too long to be shown whole


async def section_text(chunk: Chunk, index: LessonIndex) -> str:
    """The section that a chunk belongs to, as Markdown; of a very long one, the part around the chunk."""
    before, after = await concurrently(
        partial(_neighbours, chunk, index, forward=False), partial(_neighbours, chunk, index, forward=True)
    )
    return join_chunks([*reversed(before), chunk, *after])


def join_chunks(chunks: Sequence[Chunk]) -> str:
    """The text of consecutive chunks of one section."""
    text = ""
    for chunk in chunks:
        text = _joined(text, chunk.text) if text else chunk.text
    return text


async def _neighbours(chunk: Chunk, index: LessonIndex, *, forward: bool) -> list[Chunk]:
    """The chunks of the same section before or after this one, the nearest first."""
    found, last = list[Chunk](), chunk
    for _ in range(NEIGHBOURS_READ):
        other = await _neighbour(last, last.next_id if forward else last.prev_id, index)
        if other is None or not _same_section(other, chunk):
            break
        found.append(other)
        last = other
    return found


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
