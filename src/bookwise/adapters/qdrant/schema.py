"""Chunk ↔ Qdrant payload, and which payload fields are indexed."""

import hashlib
from datetime import datetime
from typing import Any

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

Payload = dict[str, Any]


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
    return _chunk_payload(embedded.chunk) | {
        "embedding_model": embedded.embedding_model,
        "embedded_at": embedded.embedded_at.isoformat(),
    }


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


def to_chunk(payload: Payload) -> Chunk:
    """The chunk behind a payload, without the text it was embedded from."""
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


def to_embedded(payload: Payload, vector: Vector) -> EmbeddedChunk:
    """The chunk behind a payload and its vector."""
    return EmbeddedChunk(
        chunk=to_chunk(payload),
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
