"""A folder → an open shard of Qdrant's engine, created on first use."""

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import qdrant_edge as qdrant

from bookwise.adapters.disk_space import RESERVE_BYTES, free_bytes, is_in_memory, require_space
from bookwise.adapters.disk_sync import sync_folder
from bookwise.adapters.qdrant.collections import IDENTITY_FILE
from bookwise.adapters.qdrant.engine_errors import ENGINE
from bookwise.adapters.qdrant.schema import DENSE, INTEGER_FIELDS, KEYWORD_FIELDS, RANGE_FIELDS, TENANT, WORDS

#: Linux loads no more than this per request on a disk with its default settings.
READ_AHEAD_BYTES = 128 * 1024
#: The engine fills files of this size from their start. It reads all others to their end when it opens them.
LARGE_FILE_BYTES = 32_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The engine's handle, and the identity of the data in it."""

    id: str
    identity: Path  #: its file; `touch` it after every change of the data (adapters/seal.py)
    engine: Any  # the engine's type stubs are wider than the values it takes and returns here


def open_shard(folder: Path, size: int) -> Shard:
    """The shard in `folder`, created for vectors of `size` numbers when absent."""
    identity = folder / IDENTITY_FILE
    if identity.exists() and identity.stat().st_size:
        _require_space_to_read(folder)
        engine = qdrant.EdgeShard.load(str(folder), None)
        if free_bytes(folder) >= RESERVE_BYTES and _drop_unused_indexes(engine):
            identity.touch()
        _read_ahead(folder)
    else:
        require_space(folder)
        engine = _create(folder, size)
        _write_identity(identity, size)
    return Shard(id=json.loads(identity.read_text())["id"], identity=identity, engine=engine)


def _require_space_to_read(folder: Path) -> None:
    """Reading a disk takes none of its space, unless its files are in memory."""
    if is_in_memory(folder):
        files = [path.stat() for path in folder.rglob("*") if path.is_file()]
        require_space(folder, sum(max(0, f.st_size - f.st_blocks * 512) for f in files if f.st_size < LARGE_FILE_BYTES))


def _read_ahead(folder: Path) -> None:
    """Asks the operating system to load vectors and payloads before the first search needs them.

    Takes a few milliseconds and no memory in this process. If the system refuses, searches still work.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for pattern in ("payload_storage/*.dat", f"vector_storage-{DENSE}/*/*.mmap"):
        for path in folder.glob(f"segments/*/{pattern}"):
            with suppress(OSError), path.open("rb") as file:
                for start, end in _written_parts(file.fileno()):
                    for offset in range(start, end, READ_AHEAD_BYTES):
                        os.posix_fadvise(file.fileno(), offset, READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED)


def _written_parts(descriptor: int) -> Iterator[tuple[int, int]]:
    """Where a file has data. The engine's files are far larger, and loading their holes takes time and memory too."""
    end, size = 0, os.fstat(descriptor).st_size
    while end < size:
        start = os.lseek(descriptor, end, os.SEEK_DATA)  # raises OSError after the last part
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def _create(folder: Path, size: int) -> qdrant.EdgeShard:
    """An empty shard. A folder that exists without an identity is the rest of a creation that was interrupted: no
    catalog can name it, so it is removed."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    engine = qdrant.EdgeShard.create(str(folder), _config(size))
    for field, params in _field_indexes().items():
        engine.update(qdrant.UpdateOperation.create_field_index(field, params))
    engine.flush()
    return engine


def _write_identity(path: Path, size: int) -> None:
    """Completes a creation: the file appears with its content, or not at all."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump({"id": str(uuid.uuid4()), "size": size, "engine": version(ENGINE)}, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    sync_folder(path.parent)


def _field_indexes() -> dict[str, Any]:
    """The indexed payload fields, each with what its filters need."""
    keywords = {field: qdrant.KeywordIndexParams(is_tenant=field == TENANT) for field in KEYWORD_FIELDS}
    ranges = {field: qdrant.IntegerIndexParams(lookup=False, range=True) for field in RANGE_FIELDS}
    integers = {field: qdrant.IntegerIndexParams(lookup=True, range=False) for field in INTEGER_FIELDS}
    return keywords | ranges | integers


def _drop_unused_indexes(engine: qdrant.EdgeShard) -> bool:
    """Drops the field indexes that an older version created and no filter uses. Whether there were any."""
    unused = engine.info().payload_schema.keys() - _field_indexes().keys()
    for field in unused:
        engine.update(qdrant.UpdateOperation.delete_field_index(field))
    if unused:
        engine.flush()
    return bool(unused)


def _config(size: int) -> qdrant.EdgeConfig:
    """Everything is mapped from disk. In any other placement the engine reads its files to the end when it opens them,
    and each has 32 MiB, mostly empty."""
    on_disk = qdrant.Memory.Cold
    quantization = qdrant.TurboQuantQuantizationConfig(memory=on_disk, bits=qdrant.TurboQuantBitSize.Bits2)
    dense = qdrant.EdgeVectorParams(
        size=size, distance=qdrant.Distance.Cosine, quantization_config=quantization, memory=on_disk
    )
    return qdrant.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={WORDS: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
        max_search_threads=1,
    )
