"""Caches vectors as bytes, bit for bit, so that no text is embedded twice."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from struct import Struct
from typing import Any
from zlib import crc32

from sqlalchemy import Connection, and_, bindparam, delete, func, select

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import embeddings, lessons
from bookwise.domain.books import Vector

_FLOAT_BYTES = 4
_UNUSED_MIN = 1_000
_BATCH = 500  # hashes per IN list, far below the parameter limit of any database

logger = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class SqlVectorCache:
    """Vectors as little-endian float32, by embedder fingerprint and hash of the text."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        if not hashes:
            return {}
        return await self._database.read(_recall, fingerprint, hashes)

    async def remember(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        if not vectors:
            return
        now = self._clock()
        # Sorted, to avoid deadlocks between two writers of the same vectors.
        rows = [
            {"fingerprint": fingerprint, "text_hash": text_hash, "stored_at": now, **_packed(vectors[text_hash])}
            for text_hash in sorted(vectors)
        ]
        insertion = self._database.insert_into(embeddings)
        new = insertion.excluded
        upsert = insertion.on_conflict_do_update(
            index_elements=["fingerprint", "text_hash"],
            set_={"vector": new.vector, "checksum": new.checksum, "stored_at": new.stored_at},
        )
        await self._database.write(lambda connection: connection.execute(upsert, rows))

    async def forget_unused(self) -> int:
        unused = await self._database.read(_find_unused)
        for start in range(0, len(unused), _BATCH):  # so that other writers can run in between
            await self._database.write(_delete, unused[start : start + _BATCH])
        return len(unused)


def _find_unused(connection: Connection) -> list[tuple[str, str]]:
    """The keys to delete. Mostly costs two counts."""
    chunks = connection.execute(select(func.coalesce(func.sum(lessons.c.chunk_count), 0))).scalar_one()
    allowed = max(_UNUSED_MIN, chunks)
    total = connection.execute(select(func.count()).select_from(embeddings)).scalar_one()
    if total <= allowed:
        return []
    listed = connection.execute(select(lessons.c.text_hashes).where(lessons.c.text_hashes.is_not(None))).scalars()
    live = {text_hash for hashes in listed for text_hash in hashes}
    keys = (embeddings.c.fingerprint, embeddings.c.text_hash)
    newest_first = (embeddings.c.stored_at.is_(None), embeddings.c.stored_at.desc(), *keys)
    rows = connection.execute(select(*keys).order_by(*newest_first)).all()
    return [(row.fingerprint, row.text_hash) for row in rows if row.text_hash not in live][allowed:]


def _delete(connection: Connection, keys: Sequence[tuple[str, str]]) -> None:
    is_key = and_(
        embeddings.c.fingerprint == bindparam("of_fingerprint"), embeddings.c.text_hash == bindparam("of_hash")
    )
    rows = [{"of_fingerprint": fingerprint, "of_hash": text_hash} for fingerprint, text_hash in keys]
    connection.execute(delete(embeddings).where(is_key), rows)


def _recall(connection: Connection, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
    columns = (embeddings.c.text_hash, embeddings.c.vector, embeddings.c.checksum)
    query = select(*columns).where(embeddings.c.fingerprint == fingerprint)
    vectors: dict[str, Vector] = {}
    for batch in _batches(hashes):
        rows = connection.execute(query.where(embeddings.c.text_hash.in_(batch)))
        vectors.update((row.text_hash, _unpack(row.vector)) for row in rows if _is_intact(row))
    return vectors


def _batches(hashes: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(hashes), _BATCH):
        yield hashes[start : start + _BATCH]


def _is_intact(row: Any) -> bool:
    """Whether the vector is what was stored. A damaged one is left out, so its text is embedded again."""
    is_whole = len(row.vector) % _FLOAT_BYTES == 0
    if is_whole and row.checksum in (None, crc32(row.vector)):  # earlier releases stored none
        return True
    logger.warning("vectors.damaged", extra={"text_hash": row.text_hash})
    return False


def _packed(vector: Vector) -> dict[str, Any]:
    data = Struct(f"<{len(vector)}f").pack(*vector)
    return {"vector": data, "checksum": crc32(data)}


def _unpack(data: bytes) -> Vector:
    return Struct(f"<{len(data) // _FLOAT_BYTES}f").unpack(data)
