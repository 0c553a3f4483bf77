"""Chunks → embedded chunks. Vectors come from the cache; missing ones are embedded in one batch."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.books import Chunk, EmbeddedChunk
from bookwise.ports import Embedder, VectorCache

Memory: TypeAlias = Literal["recall", "ignore"]


def text_hash(chunk: Chunk) -> str:
    """The cache key of a chunk: SHA-256 of the text that is embedded."""
    return hashlib.sha256(chunk.embedding_text.encode()).hexdigest()


async def embed(
    chunks: Sequence[Chunk], *, embedder: Embedder, cache: VectorCache, memory: Memory, now: datetime
) -> list[EmbeddedChunk]:
    """The chunks with their vectors, in order. Memory `ignore` skips the cache and embeds all texts again.

    Raises `EmbedderUnavailable`.
    """
    texts = {text_hash(chunk): chunk.embedding_text for chunk in chunks}
    facts = embedder.facts
    vectors = await cache.recall(facts.fingerprint, list(texts)) if memory == "recall" else {}
    missing = [digest for digest in texts if digest not in vectors]
    new_vectors = dict(zip(missing, await embedder.embed_texts([texts[digest] for digest in missing]), strict=True))
    if new_vectors:
        await cache.remember(facts.fingerprint, new_vectors)
    vectors |= new_vectors
    return [
        EmbeddedChunk(chunk=chunk, vector=vectors[text_hash(chunk)], embedding_model=facts.name, embedded_at=now)
        for chunk in chunks
    ]
