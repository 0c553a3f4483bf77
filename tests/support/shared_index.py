"""One opened index of a book for all tests of a process: opening a copy costs more than most of the tests."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.adapters.embedders.minilm import MiniLM
from bookwise.adapters.qdrant.embedded import EmbeddedIndex
from bookwise.adapters.qdrant.folder import open_folder
from bookwise.domain.books import EmbeddedChunk
from bookwise.ports import LessonIndex
from bookwise.settings import Settings
from bookwise.wiring import INDEX_FOLDER, index_folder
from tests.support.copies import copy_folder

FACTS = {"minilm": MiniLM.facts, "hashing": HashingEmbedder().facts}


class SharedIndex(EmbeddedIndex):
    """An index that many tests read. A write would show in the other tests, so it fails."""

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> NoReturn:
        raise AssertionError("The index is shared: open the service of a test that writes with own_index=True.")

    async def remove(self, book_id: str, revisions: Sequence[str]) -> NoReturn:
        raise AssertionError("The index is shared: open the service of a test that writes with own_index=True.")


def copy_book(book: Path, settings: Settings, *, own_index: bool = False) -> LessonIndex | None:
    """Fills the data folder of the settings with a copy of a book's. Returns the index to open the app with: the shared
    one, or None if the copy has its own."""
    if own_index or settings.qdrant_url is not None:
        copy_folder(book, settings.data_dir)
        return None
    copy_folder(book, settings.data_dir, without=INDEX_FOLDER)
    return _opened_index(book, settings.embedder)


@cache
def _opened_index(book: Path, embedder: str) -> LessonIndex:
    """Open until the process ends. It has a copy too: the engine changes the files that it opens."""
    copy = copy_folder(book, book.with_name(f"{book.name}-shared"))
    facts = FACTS[embedder]
    return SharedIndex(open_folder(index_folder(Settings(data_dir=copy), facts.fingerprint), facts.size))
