"""Caches vectors as bytes, bit for bit, so that no text is embedded twice."""

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct

from sqlalchemy import Connection, select

from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import embeddings
from bookwise.domain.books import Vector

_FLOAT_BYTES = 4
_BATCH = 500  # hashes per IN list, far below the parameter limit of any database


class SqlVectorCache:
    """Vectors as little-endian float32, by embedder fingerprint and hash of the text."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        if not hashes:
            return {}
        return await self._database.read(_recall, fingerprint, hashes)

    async def remember(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        if not vectors:
            return
        # Sorted, to avoid deadlocks between two writers of the same vectors.
        rows = [
            {"fingerprint": fingerprint, "text_hash": text_hash, "vector": _pack(vectors[text_hash])}
            for text_hash in sorted(vectors)
        ]
        insertion = self._database.insert_into(embeddings)
        upsert = insertion.on_conflict_do_update(
            index_elements=["fingerprint", "text_hash"], set_={"vector": insertion.excluded.vector}
        )
        await self._database.write(lambda connection: connection.execute(upsert, rows))


def _recall(connection: Connection, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
    query = select(embeddings.c.text_hash, embeddings.c.vector).where(embeddings.c.fingerprint == fingerprint)
    vectors: dict[str, Vector] = {}
    for batch in _batches(hashes):
        rows = connection.execute(query.where(embeddings.c.text_hash.in_(batch)))
        vectors.update((row.text_hash, _unpack(row.vector)) for row in rows)
    return vectors


def _batches(hashes: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(hashes), _BATCH):
        yield hashes[start : start + _BATCH]


def _pack(vector: Vector) -> bytes:
    return Struct(f"<{len(vector)}f").pack(*vector)


def _unpack(data: bytes) -> Vector:
    if len(data) % _FLOAT_BYTES:
        raise UnreadableValue("a stored vector")
    return Struct(f"<{len(data) // _FLOAT_BYTES}f").unpack(data)
