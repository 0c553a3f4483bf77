"""A SQLite file in use → a copy of one consistent state of it."""

import sqlite3
from contextlib import closing
from pathlib import Path


def copy_database(file: Path, copy: Path) -> None:
    """Copies the file while other connections read and write it. They do not wait, and the copy needs no other file."""
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
