"""The names of indexes, and those in a data folder, without opening one."""

import json
import re
from pathlib import Path

IDENTITY_FILE = "bookwise-index.json"
BOOKS_FOLDER = "books"  #: in the folder of an index; it has one shard per book
BOOK_FILE = "bookwise-book.json"  #: in the folder of a shard; its time is that of the last change


def index_name(collection: str, fingerprint: str) -> str:
    """The name of an index in a folder or on a server.

    There is one per collection and embedder, because vectors of two models never mix.
    """
    return f"{collection}-{_slug(fingerprint)}"


def index_ids(folder: Path) -> dict[str, str]:
    """The id of each index below `folder`, by folder name. An index that cannot be read is left out."""
    return {
        path.parent.name: index_id
        for path in sorted(folder.glob(f"*/{IDENTITY_FILE}"))
        if (index_id := stored_id(path))
    }


def configured_name(name: str, fingerprint: str) -> str:
    """The collection of an index with vectors of this embedder; empty for an index of another embedder."""
    ending = f"-{_slug(fingerprint)}"
    return name.removesuffix(ending) if name.endswith(ending) else ""


def _slug(fingerprint: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", fingerprint)


def stored_id(path: Path) -> str:
    """The id in an identity file; empty if it cannot be read."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
