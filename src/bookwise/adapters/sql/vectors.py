"""Turns vectors into bytes that come back bit for bit, so that no text is embedded twice."""

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct

from sqlalchemy import Connection, select

from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import embeddings
from bookwise.domain.books import Vector

_FLOAT = 4  # bytes
_BATCH = 500  # hashes in one IN list: far below any database's limit of parameters


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
        # Sorted, so that two writers of the same vectors never wait for each other in a ring.
        rows = [
            {"fingerprint": fingerprint, "text_hash": text_hash, "vector": _packed(vectors[text_hash])}
            for text_hash in sorted(vectors)
        ]
        adding = self._database.insert_into(embeddings)
        newest = adding.on_conflict_do_update(
            index_elements=["fingerprint", "text_hash"], set_={"vector": adding.excluded.vector}
        )
        await self._database.write(lambda connection: connection.execute(newest, rows))


def _recall(connection: Connection, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
    of_embedder = select(embeddings.c.text_hash, embeddings.c.vector).where(embeddings.c.fingerprint == fingerprint)
    found: dict[str, Vector] = {}
    for batch in _batches(hashes):
        rows = connection.execute(of_embedder.where(embeddings.c.text_hash.in_(batch)))
        found.update((row.text_hash, _unpacked(row.vector)) for row in rows)
    return found


def _batches(hashes: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(hashes), _BATCH):
        yield hashes[start : start + _BATCH]


def _packed(vector: Vector) -> bytes:
    return Struct(f"<{len(vector)}f").pack(*vector)


def _unpacked(stored: bytes) -> Vector:
    if len(stored) % _FLOAT:
        raise UnreadableValue("a stored vector")
    return Struct(f"<{len(stored) // _FLOAT}f").unpack(stored)
