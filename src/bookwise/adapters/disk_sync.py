"""Makes a change of a folder durable."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
