"""Makes a change of a folder durable."""

import json
import os
from collections.abc import Mapping
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """The file appears with its content, or not at all."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    sync_folder(path.parent)


def has_content(path: Path) -> bool:
    """Whether the file was written. Without `write_json`, a crash may leave an empty one."""
    return path.exists() and path.stat().st_size > 0
