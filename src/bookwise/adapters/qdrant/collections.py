"""A data folder → the indexes in it, without opening one."""

import json
import re
from pathlib import Path

IDENTITY_FILE = "bookwise-index.json"


def index_name(collection: str, fingerprint: str) -> str:
    """The folder name of an index: one per collection and embedder, because vectors of two models never mix."""
    return f"{collection}-{_slug(fingerprint)}"


def index_ids(folder: Path) -> dict[str, str]:
    """The id of each index below `folder`, by folder name. An index that cannot be read is left out."""
    return {path.parent.name: index_id for path in sorted(folder.glob(f"*/{IDENTITY_FILE}")) if (index_id := _id(path))}


def collections_of(folder: Path, fingerprint: str) -> dict[str, str]:
    """The index id of each collection below `folder` that holds vectors of this embedder."""
    ending = f"-{_slug(fingerprint)}"
    return {name.removesuffix(ending): found for name, found in index_ids(folder).items() if name.endswith(ending)}


def _slug(fingerprint: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", fingerprint)


def _id(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
