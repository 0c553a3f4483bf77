"""What the port `VectorCache` promises."""

import struct
from hashlib import sha256
from random import Random

import anyio
import pytest
from sqlalchemy import text

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.vectors import SqlVectorCache
from bookwise.ports import VectorCache

pytestmark = pytest.mark.anyio

EDGES = (0.0, -0.0, 1.0, -1.0, 1.401298464324817e-45, 3.4028234663852886e38, 0.10000000149011612)


def vector(seed: int, size: int = 384) -> tuple[float, ...]:
    draw = Random(seed)
    return struct.unpack(f"<{size}f", struct.pack(f"<{size}f", *(draw.uniform(-1, 1) for _ in range(size))))


def hashes(count: int) -> list[str]:
    return [sha256(str(number).encode()).hexdigest() for number in range(count)]


def bits(values: tuple[float, ...]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


async def test_a_vector_comes_back_bit_for_bit(vectors: VectorCache) -> None:
    stored = {"edges": EDGES, "one": vector(1), "large": vector(2, 3072)}
    await vectors.remember("minilm", stored)
    recalled = await vectors.recall("minilm", [*stored, "unknown"])
    assert {name: bits(values) for name, values in recalled.items()} == {
        name: bits(values) for name, values in stored.items()
    }


async def test_recalling_no_hashes_returns_nothing(vectors: VectorCache) -> None:
    await vectors.remember("minilm", {})
    assert await vectors.recall("minilm", []) == {}
    assert await vectors.recall("minilm", ["a"]) == {}


async def test_each_embedder_has_separate_vectors(vectors: VectorCache) -> None:
    await vectors.remember("minilm", {"a": vector(1)})
    await vectors.remember("openai", {"a": vector(2, 1536)})
    assert await vectors.recall("minilm", ["a"]) == {"a": vector(1)}
    assert await vectors.recall("openai", ["a"]) == {"a": vector(2, 1536)}
    assert await vectors.recall("other", ["a"]) == {}


async def test_remembering_twice_is_once(vectors: VectorCache) -> None:
    await vectors.remember("minilm", {"a": vector(1)})
    await vectors.remember("minilm", {"a": vector(1), "b": vector(2)})
    assert await vectors.recall("minilm", ["a", "b", "a"]) == {"a": vector(1), "b": vector(2)}
    await vectors.remember("minilm", {"a": vector(3)})
    assert await vectors.recall("minilm", ["a", "b"]) == {"a": vector(3), "b": vector(2)}, "the newer one stays"


async def test_more_vectors_than_one_statement_can_name_are_recalled(vectors: VectorCache) -> None:
    names = hashes(1700)
    await vectors.remember("minilm", {name: vector(seed, 4) for seed, name in enumerate(names)})
    recalled = await vectors.recall("minilm", names)
    assert recalled == {name: vector(seed, 4) for seed, name in enumerate(names)}


async def test_many_can_remember_the_same_vectors_at_once(vectors: VectorCache) -> None:
    names = hashes(200)
    async with anyio.create_task_group() as tasks:
        for turn in range(6):
            order = names if turn % 2 else names[::-1]
            tasks.start_soon(vectors.remember, "minilm", dict.fromkeys(order, EDGES))
    assert len(await vectors.recall("minilm", names)) == 200


@pytest.mark.parametrize("damage", ["cut", "flip"])
async def test_a_damaged_vector_is_left_out_and_can_be_stored_again(database: Database, damage: str) -> None:
    cache = SqlVectorCache(database)
    await cache.remember("minilm", {"a": vector(1), "b": vector(2)})
    stored = bytearray(struct.pack("<384f", *vector(1)))
    stored[700] ^= 4
    damaged = bytes(stored if damage == "flip" else stored[:1001])
    change = text("UPDATE embeddings SET vector = :damaged WHERE text_hash = 'a'")
    await database.write(lambda connection: connection.execute(change, {"damaged": damaged}))
    assert await cache.recall("minilm", ["a", "b"]) == {"b": vector(2)}
    await cache.remember("minilm", {"a": vector(1)})
    assert await cache.recall("minilm", ["a"]) == {"a": vector(1)}


async def test_a_vector_of_an_earlier_release_has_no_checksum_and_is_recalled(database: Database) -> None:
    cache = SqlVectorCache(database)
    await cache.remember("minilm", {"a": vector(1)})
    forget = text("UPDATE embeddings SET checksum = NULL, stored_at = NULL")
    await database.write(lambda connection: connection.execute(forget))
    assert await cache.recall("minilm", ["a"]) == {"a": vector(1)}
