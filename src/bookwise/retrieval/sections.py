"""Chunks of one section → its whole text: what chunking repeated between two chunks stands once."""

from collections.abc import Sequence

from bookwise.domain.books import Chunk

_SHORTEST_OVERLAP = 20  #: characters; fewer could be equal by chance
_LONGEST_OVERLAP = 3_000


def section_text(chunk: Chunk, lesson: Sequence[Chunk]) -> str:
    """The section that a chunk belongs to, as Markdown; `lesson` holds the chunks of its lesson in order."""
    text = ""
    for part in _section_chunks(chunk, lesson):
        text = _joined(text, part.text) if text else part.text
    return text or chunk.text


def _section_chunks(chunk: Chunk, lesson: Sequence[Chunk]) -> list[Chunk]:
    """The run of chunks around this one that have its heading."""
    at = next((index for index, other in enumerate(lesson) if other.id == chunk.id), None)
    if at is None:
        return [chunk]
    first = last = at
    while first and _same_section(lesson[first - 1], chunk):
        first -= 1
    while last + 1 < len(lesson) and _same_section(lesson[last + 1], chunk):
        last += 1
    return list(lesson[first : last + 1])


def _same_section(one: Chunk, other: Chunk) -> bool:
    return (one.locator.heading_path, one.locator.anchor) == (other.locator.heading_path, other.locator.anchor)


def _joined(text: str, following: str) -> str:
    before = text.rstrip()
    for length in range(min(len(before), len(following), _LONGEST_OVERLAP), _SHORTEST_OVERLAP, -1):
        if before.endswith(following[:length].rstrip()):
            return before + following[len(following[:length].rstrip()) :]
    return f"{before}\n\n{following}"
