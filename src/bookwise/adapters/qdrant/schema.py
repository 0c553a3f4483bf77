"""Chunk ↔ Qdrant payload, and which payload fields are indexed."""

import hashlib
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any
from zlib import crc32

from bookwise.domain.books import Audience, Chunk, EmbeddedChunk, Locator, Vector

DENSE = "dense"
WORDS = "words"
TENANT = "book_id"

#: The fields that a filter or a facet uses, and the two hashes that the data model requires (docs/books.md). Every
#: index of a field costs memory and time when the shard is opened.
KEYWORD_FIELDS = (
    "book_id",
    "module",
    "proficiency_level",
    "layer",
    "parent_doc_id",
    "content_hash",
    "source_file_hash",
    "chunk_id",
    "revision",
)
RANGE_FIELDS = ("chapter", "hardware_tier")
INTEGER_FIELDS = ("lesson",)

#: Of the other fields; chunks of earlier releases have none, or one named `checksum` that is not read any more.
CHECKSUM = "fields_checksum"
VECTOR_CHECKSUM = "vector_checksum"

Payload = dict[str, Any]

_GOLDEN = 0.6180339887498949  #: spreads the weights evenly
_VECTOR_TOLERANCE = 20  #: millionths; single precision loses less than two

#: The fields in the order in which the checksum reads them. A stored checksum is valid only for exactly these. The text
#: has `content_hash`, which is one of them.
_CHECKED_FIELDS = (
    *("book_id", "module", "chapter", "lesson", "hardware_tier", "proficiency_level", "layer", "parent_doc_id"),
    *("content_hash", "source_file_hash", "section_title", "source_file", "chunk_index", "total_chunks"),
    *("prev_chunk_id", "next_chunk_id", "word_count", "token_count", "version", "created_at", "updated_at"),
    *("chunk_id", "revision", "char_count", "page_title", "chapter_title", "section", "heading_path", "breadcrumb"),
    *("url", "anchor", "embedding_model", "embedded_at", VECTOR_CHECKSUM),
)
_checked_values = itemgetter(*_CHECKED_FIELDS)

logger = logging.getLogger(__name__)


def point_id(chunk: Chunk) -> int:
    """24 bits for the lesson's revision, 40 for the chunk.

    An unchanged chunk of a new revision gets a new id, so it never overwrites a chunk that readers still see. Chunks of
    one lesson share the upper bits. Integers pass to the engine and back several times faster than UUIDs.
    """
    lesson = hashlib.sha256(f"{chunk.lesson_id}:{chunk.revision}".encode()).digest()[:3]
    return int.from_bytes(lesson + hashlib.sha256(chunk.id.encode()).digest()[:5])


def lesson_of(point: int) -> int:
    """The upper bits of a point's id: the same for all chunks of one lesson revision."""
    return point >> 40


def to_payload(embedded: EmbeddedChunk) -> Payload:
    """The fields stored with a chunk's vectors."""
    payload = _chunk_payload(embedded.chunk) | {
        "embedding_model": embedded.embedding_model,
        "embedded_at": embedded.embedded_at.isoformat(),
        VECTOR_CHECKSUM: vector_checksum(embedded.vector),
    }
    return payload | {CHECKSUM: _checksum(payload)}


def _chunk_payload(chunk: Chunk) -> Payload:
    locator, audience = chunk.locator, chunk.audience
    return {
        "book_id": locator.book_id,
        "module": locator.module,
        "chapter": locator.chapter,
        "lesson": locator.lesson,
        "hardware_tier": audience.hardware_tier,
        "proficiency_level": audience.proficiency_level,
        "layer": audience.layer,
        "parent_doc_id": chunk.lesson_id,
        "content_hash": chunk.content_hash,
        "source_file_hash": chunk.file_hash,
        "text": chunk.text,
        "section_title": locator.section_title,
        "source_file": locator.source_file,
        "chunk_index": chunk.index,
        "total_chunks": chunk.total,
        "prev_chunk_id": chunk.prev_id,
        "next_chunk_id": chunk.next_id,
        "word_count": chunk.word_count,
        "token_count": chunk.token_count,
        "version": chunk.version,
        "created_at": chunk.created_at.isoformat(),
        "updated_at": chunk.updated_at.isoformat(),
        "chunk_id": chunk.id,
        "revision": chunk.revision,
        "char_count": chunk.char_count,
        "page_title": locator.page_title,
        "chapter_title": locator.breadcrumb[-1] if locator.breadcrumb else locator.page_title,
        "section": locator.section_title or locator.page_title,
        "heading_path": list(locator.heading_path),
        "breadcrumb": list(locator.breadcrumb),
        "url": locator.url,
        "anchor": locator.anchor,
    }


def to_chunk(payload: Payload) -> Chunk | None:
    """The chunk behind a payload, without the text it was embedded from; None, and a line in the log, for a chunk that
    is not what was stored."""
    try:
        if _is_intact(payload):
            return _to_chunk(payload)
    except (KeyError, TypeError, ValueError, AttributeError):
        pass  # a field is missing or is no longer of its type
    logger.error("index.damaged-chunk", extra={"chunk_id": str(payload.get("chunk_id"))})
    return None


def _is_intact(payload: Payload) -> bool:
    """Takes 9 µs: little enough to do it for every chunk that is shown."""
    if hashlib.sha256(payload["text"].encode()).hexdigest() != payload["content_hash"]:
        return False
    return CHECKSUM not in payload or payload[CHECKSUM] == _checksum(payload)


def _checksum(payload: Payload) -> int:
    """CRC-32 of all checked fields. Three times as fast as one of their JSON. With the text, it would take as long
    again."""
    return crc32(repr(_checked_values(payload)).encode())


def vector_checksum(vector: Sequence[float]) -> int:
    """A weighted sum of the numbers, in millionths. Engines scale a vector to length one again, which changes its last
    digits, so a checksum of the bits would not hold."""
    return round(1e6 * sum(number * weight for number, weight in zip(vector, _weights(len(vector)), strict=True)))


def is_same_vector(vector: Sequence[float], checksum: int) -> bool:
    return abs(vector_checksum(vector) - checksum) <= _VECTOR_TOLERANCE


@lru_cache
def _weights(count: int) -> tuple[float, ...]:
    """Between one and two, all different: two numbers that change places change the sum."""
    return tuple(1 + (number * _GOLDEN) % 1 for number in range(count))


def _to_chunk(payload: Payload) -> Chunk:
    return Chunk(
        id=payload["chunk_id"],
        text=payload["text"],
        locator=_to_locator(payload),
        audience=Audience(
            hardware_tier=payload["hardware_tier"],
            proficiency_level=payload["proficiency_level"],
            layer=payload["layer"],
        ),
        lesson_id=payload["parent_doc_id"],
        revision=payload["revision"],
        index=payload["chunk_index"],
        total=payload["total_chunks"],
        prev_id=payload["prev_chunk_id"],
        next_id=payload["next_chunk_id"],
        content_hash=payload["content_hash"],
        file_hash=payload["source_file_hash"],
        word_count=payload["word_count"],
        token_count=payload["token_count"],
        char_count=payload["char_count"],
        version=payload["version"],
        created_at=datetime.fromisoformat(payload["created_at"]),
        updated_at=datetime.fromisoformat(payload["updated_at"]),
    )


def to_embedded(payload: Payload, vector: Vector) -> EmbeddedChunk | None:
    """The chunk behind a payload and its vector; None for a damaged chunk."""
    chunk = to_chunk(payload)
    if chunk is None:
        return None
    return EmbeddedChunk(
        chunk=chunk,
        vector=vector,
        embedding_model=payload["embedding_model"],
        embedded_at=datetime.fromisoformat(payload["embedded_at"]),
    )


def by_revision(embedded: EmbeddedChunk) -> tuple[str, int, str]:
    """The key that sorts chunks by revision and position."""
    return embedded.chunk.revision, embedded.chunk.index, embedded.chunk.id


def _to_locator(payload: Payload) -> Locator:
    return Locator(
        book_id=payload["book_id"],
        module=payload["module"],
        chapter=payload["chapter"],
        lesson=payload["lesson"],
        source_file=payload["source_file"],
        page_title=payload["page_title"],
        url=payload["url"],
        anchor=payload["anchor"],
        section_title=payload["section_title"],
        heading_path=tuple(payload["heading_path"]),
        breadcrumb=tuple(payload["breadcrumb"]),
    )
