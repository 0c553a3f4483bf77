"""Chunks → embedded chunks: what was embedded before is remembered, the rest goes in one batch."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from bookwise.domain.books import Chunk, EmbeddedChunk
from bookwise.ports import Embedder, VectorCache

Memory: TypeAlias = Literal["recall", "ignore"]


def text_hash(chunk: Chunk) -> str:
    return hashlib.sha256(chunk.embedding_text.encode()).hexdigest()


async def embed(
    chunks: Sequence[Chunk], *, embedder: Embedder, cache: VectorCache, memory: Memory, now: datetime
) -> list[EmbeddedChunk]:
    """Each chunk with its vector, in order. `ignore` embeds everything anew."""
    texts = {text_hash(chunk): chunk.embedding_text for chunk in chunks}
    facts = embedder.facts
    known = await cache.recall(facts.fingerprint, list(texts)) if memory == "recall" else {}
    missing = [digest for digest in texts if digest not in known]
    vectors = await embedder.embed_texts([texts[digest] for digest in missing])
    made = dict(zip(missing, vectors, strict=True))
    if made:
        await cache.remember(facts.fingerprint, made)
    known |= made
    return [
        EmbeddedChunk(chunk=chunk, vector=known[text_hash(chunk)], embedding_model=facts.name, embedded_at=now)
        for chunk in chunks
    ]
