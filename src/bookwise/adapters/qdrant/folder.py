"""The folder of an index: its identity, and a shard for each book."""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import qdrant_edge as qdrant

from bookwise.adapters.disk_space import require_space
from bookwise.adapters.disk_sync import has_content, write_json
from bookwise.adapters.qdrant import conditions
from bookwise.adapters.qdrant.book_shard import NO_LIMIT, PAGE_SIZE, read_records
from bookwise.adapters.qdrant.collections import BOOKS_FOLDER, IDENTITY_FILE, stored_id
from bookwise.adapters.qdrant.engine_errors import ENGINE
from bookwise.adapters.qdrant.schema import TENANT
from bookwise.adapters.qdrant.shard import complete, create_shard, is_complete

_CONFIG_FILE = "edge_config.json"  #: of the engine; directly in the folder of an index: of a shard of all books
_NAME_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFolder:
    """An index in a data folder."""

    path: Path
    id: str
    size: int  #: of its vectors

    def shard_of(self, book_id: str) -> Path:
        """Where the shard of a book is. The id may contain anything: only its letters, digits and digest are used."""
        readable = re.sub(r"[^a-z0-9]+", "-", book_id.lower())[:_NAME_MAX].strip("-")
        return self.path / BOOKS_FOLDER / f"{readable}-{sha256(book_id.encode()).hexdigest()[:12]}".lstrip("-")

    def shards(self) -> list[Path]:
        return sorted(path for path in (self.path / BOOKS_FOLDER).glob("*") if is_complete(path))

    def is_unchanged(self) -> bool:
        """Whether the folder still holds this index: it may have been removed or replaced."""
        return stored_id(self.path / IDENTITY_FILE) == self.id


def open_folder(path: Path, size: int) -> IndexFolder:
    """The folder of an index of vectors with `size` numbers, created when absent.

    Without an identity it is the rest of a creation that was interrupted. No catalog can name that, so it is removed.
    """
    if has_content(path / IDENTITY_FILE):
        index = IndexFolder(
            path=path, id=json.loads((path / IDENTITY_FILE).read_text(encoding="utf-8"))["id"], size=size
        )
        if (path / _CONFIG_FILE).exists():
            _split(index)
        _remove_others(path)
        return index
    require_space(path)
    if path.exists():
        shutil.rmtree(path)
    (path / BOOKS_FOLDER).mkdir(parents=True)
    index = IndexFolder(path=path, id=str(uuid.uuid4()), size=size)
    write_json(path / IDENTITY_FILE, {"id": index.id, "size": size, "engine": version(ENGINE)})
    return index


def _split(index: IndexFolder) -> None:
    """Copies each book of a shard that an earlier version created for all books to a shard of its own.

    The shard of all books remains until every copy is complete: an interrupted split is done again from the start.
    """
    engine: Any = qdrant.EdgeShard.load(str(index.path), None)
    facets = engine.facet(qdrant.FacetRequest(key=TENANT, limit=NO_LIMIT, exact=True)).hits
    for book_id in (str(facet.value) for facet in facets):
        _copy_book(book_id, engine, index)
    engine.close()
    (index.path / _CONFIG_FILE).unlink()


def _copy_book(book_id: str, engine: Any, index: IndexFolder) -> None:
    shard = create_shard(index.shard_of(book_id), book_id, index.size)
    records = read_records(engine, [conditions.of_book(book_id)], with_vector=True)
    while page := list(islice(records, PAGE_SIZE)):
        require_space(index.path)
        points = [qdrant.Point(record.id, record.vector, record.payload) for record in page]
        shard.engine.update(qdrant.UpdateOperation.upsert_points(points))
    shard.engine.flush()
    shard.engine.close()
    complete(shard)


def _remove_others(path: Path) -> None:
    """Removes what is left of a shard of all books, and of shards whose creation or removal was interrupted."""
    for entry in _others(path):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _others(path: Path) -> Iterator[Path]:
    yield from (entry for entry in path.iterdir() if entry.name not in (IDENTITY_FILE, BOOKS_FOLDER))
    yield from (entry for entry in (path / BOOKS_FOLDER).glob("*") if not is_complete(entry))
