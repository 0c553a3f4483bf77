"""Chunks → pages that fit into one write."""

from collections.abc import Iterator, Sequence

from bookwise.domain.books import EmbeddedChunk

PAGE_BYTES = 8 * 1024 * 1024  #: a server accepts 32 MB; smaller pages share its time with searches

_BYTES_PER_NUMBER = 24  #: one component of a vector in JSON, with its separator
_BYTES_PER_WORD = 40  #: one BM25 term with its weight
_BYTES_OF_FIELDS = 2_048  #: ids, hashes, titles and field names


def pages(chunks: Sequence[EmbeddedChunk], *, max_bytes: int = PAGE_BYTES) -> Iterator[list[EmbeddedChunk]]:
    """The chunks in order, in pages of at most about `max_bytes`. A larger chunk gets a page for itself."""
    page: list[EmbeddedChunk] = []
    total = 0
    for embedded in chunks:
        size = _estimate(embedded)
        if page and total + size > max_bytes:
            yield page
            page, total = [], 0
        page.append(embedded)
        total += size
    if page:
        yield page


def _estimate(embedded: EmbeddedChunk) -> int:
    """An upper estimate of the JSON of one point. A character takes up to four bytes."""
    chunk = embedded.chunk
    numbers = len(embedded.vector) * _BYTES_PER_NUMBER
    return numbers + len(chunk.text) * 4 + chunk.word_count * _BYTES_PER_WORD + _BYTES_OF_FIELDS
