"""The folder of an index as earlier releases wrote it: one shard for all books."""

import json
from collections.abc import Sequence
from pathlib import Path

from bookwise.adapters.qdrant.book_shard import BookShard
from bookwise.adapters.qdrant.collections import BOOK_FILE, IDENTITY_FILE
from bookwise.adapters.qdrant.shard import create_shard
from bookwise.adapters.qdrant.terms import TermEncoder
from bookwise.domain.books import EmbeddedChunk

OLD_ID = "0e0c9c0e-0000-4000-8000-000000000001"


def write_shared_shard(folder: Path, chunks: Sequence[EmbeddedChunk]) -> None:
    """Writes chunks of any books."""
    size = len(chunks[0].vector)
    shard = BookShard(create_shard(folder, "any", size), TermEncoder())
    shard.stage(chunks)
    shard.close()
    (folder / BOOK_FILE).unlink()
    (folder / IDENTITY_FILE).write_text(json.dumps({"id": OLD_ID, "size": size, "engine": "0.9.0"}))
