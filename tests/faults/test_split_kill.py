"""An index of an earlier release, killed while its books get a shard each: the next start completes it."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.qdrant.embedded import open_index
from bookwise.adapters.qdrant.folder import open_folder
from tests.support.builders import chunks, embedded
from tests.support.copies import copy_folder
from tests.support.old_index import OLD_ID, write_shared_shard
from tests.support.processes import Report, child

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("SPLIT_KILLS", "4"))
FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")
BOOKS = {"arms": 3, "legs": 2}


def split_in_child(report: Report, folder: Path, nth: int) -> None:
    """Opens the index, and kills itself before it changes its folder for the n-th time; reports how often it did."""
    seen = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS and str(arguments[0]).startswith(str(folder)):
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    open_folder(folder, 2)
    report(str(seen))


async def stored(folder: Path) -> tuple[str, dict[str, dict[str, int]]]:
    async with open_index(folder, size=2) as index:
        return index.id, {book: await index.verify(book) for book in BOOKS}


def test_killed_before_any_change_of_a_file_no_chunk_is_lost(tmp_path: Path) -> None:
    old, expected = tmp_path / "old", (OLD_ID, {book: {"r1": count} for book, count in BOOKS.items()})
    texts = {book: [f"Text {number} of {book}." for number in range(count)] for book, count in BOOKS.items()}
    made = [chunk for book in BOOKS for chunk in chunks("lesson", "r1", *texts[book], book_id=book)]
    write_shared_shard(old, embedded(tuple(made), *[(1.0, 0.0)] * len(made)))
    with child(split_in_child, copy_folder(old, tmp_path / "whole"), 0) as process:
        code, lines = process.ended()
    assert code == 0, lines
    events = int(lines[0])
    assert events > 10
    for nth in range(1, events, max(1, events // KILLS)):
        folder = copy_folder(old, tmp_path / f"killed-{nth}")
        with child(split_in_child, folder, nth) as process:
            assert process.ended()[0] == -signal.SIGKILL
        assert anyio.run(stored, folder) == expected
