"""A folder → an open shard of Qdrant's engine, with the chunks of one book."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import qdrant_edge as qdrant

from bookwise.adapters.disk_space import RESERVE_BYTES, free_bytes, is_in_memory, require_space
from bookwise.adapters.disk_sync import has_content, write_json
from bookwise.adapters.qdrant.collections import BOOK_FILE
from bookwise.adapters.qdrant.engine_errors import ENGINE
from bookwise.adapters.qdrant.schema import DENSE, INTEGER_FIELDS, KEYWORD_FIELDS, RANGE_FIELDS, TENANT, WORDS

#: Linux loads no more than this per request on a disk with its default settings.
READ_AHEAD_BYTES = 128 * 1024
#: The engine fills files of this size from their start. It reads all others to their end when it opens them.
LARGE_FILE_BYTES = 32_000_000


class Shard(NamedTuple):
    """The chunks of one book, open."""

    folder: Path
    book_id: str
    engine: Any  # the engine's type stubs are wider than the values it takes and returns here


def is_complete(folder: Path) -> bool:
    """Whether the creation of the shard in this folder was completed."""
    return has_content(folder / BOOK_FILE)


def load_shard(folder: Path) -> Shard:
    """The shard in `folder`, which is complete."""
    _require_space_to_read(folder)
    engine = qdrant.EdgeShard.load(str(folder), None)
    if free_bytes(folder) >= RESERVE_BYTES and _drop_unused_indexes(engine):
        (folder / BOOK_FILE).touch()
    _read_ahead(folder)
    return Shard(folder, json.loads((folder / BOOK_FILE).read_text(encoding="utf-8"))["book"], engine)


def create_shard(folder: Path, book_id: str, size: int) -> Shard:
    """A new shard for vectors of `size` numbers. It is complete when its chunks are written and `complete` is called.

    A folder that exists is the rest of a creation that was interrupted: no catalog can name its chunks.
    """
    require_space(folder)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    engine = qdrant.EdgeShard.create(str(folder), _config(size))
    for field, params in _field_indexes().items():
        engine.update(qdrant.UpdateOperation.create_field_index(field, params))
    engine.flush()
    return Shard(folder, book_id, engine)


def complete(shard: Shard) -> None:
    write_json(shard.folder / BOOK_FILE, {"book": shard.book_id, "engine": version(ENGINE)})


def remove_shard(folder: Path) -> None:
    """Removes a closed shard. One whose removal is interrupted is not complete any more."""
    (folder / BOOK_FILE).unlink(missing_ok=True)
    shutil.rmtree(folder)


def _require_space_to_read(folder: Path) -> None:
    """Reading a disk takes none of its space, unless its files are in memory."""
    if is_in_memory(folder):
        files = [os.stat(f"{path}/{name}") for path, _, names in os.walk(folder) for name in names]
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
