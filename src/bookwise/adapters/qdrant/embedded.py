"""LessonIndex on Qdrant's engine in this process: a shard on disk for each book, opened when the book is first used."""

from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from bookwise.adapters.qdrant import conditions
from bookwise.adapters.qdrant.book_shard import BookShard
from bookwise.adapters.qdrant.engine_errors import engine_errors, opening_errors
from bookwise.adapters.qdrant.folder import IndexFolder, open_folder
from bookwise.adapters.qdrant.shard import complete, create_shard, is_complete, load_shard
from bookwise.adapters.qdrant.terms import TermEncoder
from bookwise.domain.books import Chunk, EmbeddedChunk, Vector
from bookwise.domain.errors import DamagedData, IndexUnavailable
from bookwise.domain.search import Candidate, Filter

T = TypeVar("T")

#: An open book has 130 mapped files, a thread and its word index in memory. Linux allows a process 65,530 maps.
OPEN_BOOKS_MAX = 100


@asynccontextmanager
async def open_index(folder: Path, *, size: int) -> AsyncIterator["EmbeddedIndex"]:
    """The index in `folder`, created when absent. Its book is opened at once if it has only one.

    The caller must hold the lock of the data folder. Raises `DiskFull` without space to create it, `DamagedData`,
    `IndexVersionMismatch` or `DataFolderBusy` if its files cannot be opened, and what the operating system reports.
    """
    with opening_errors(folder):
        index = EmbeddedIndex(await anyio.to_thread.run_sync(open_folder, folder, size))
    try:
        await index.open_only_book()
        yield index
    finally:
        with anyio.CancelScope(shield=True):
            await index.close()


class EmbeddedIndex:
    """The shards of all books.

    Opening a book, writing and long reads run in a worker thread, one at a time. Short reads run on the event loop: the
    engine holds the interpreter lock during a call, so a thread would only add overhead. Only the event loop closes a
    book, and never during work in a thread.
    """

    def __init__(self, folder: IndexFolder) -> None:
        self.id = folder.id
        self._folder = folder
        self._terms = TermEncoder()
        self._open_books: OrderedDict[Path, BookShard] = OrderedDict()  #: the last one was used last
        self._lock = anyio.Lock()

    async def stage(self, chunks: Sequence[EmbeddedChunk]) -> None:
        by_book: dict[str, list[EmbeddedChunk]] = defaultdict(list)
        for embedded in chunks:
            by_book[embedded.chunk.locator.book_id].append(embedded)
        async with self._lock:
            for book_id, chunks_of_book in by_book.items():
                book = await self._open_to_write(book_id)
                await _in_thread(partial(book.stage, chunks_of_book))

    async def nearest(self, vector: Vector, words: str, *, within: Filter, limit: int) -> list[Candidate]:
        return await self._call(within.book_id, lambda book: book.nearest(vector, words, within, limit), [])

    async def read(self, book_id: str, refs: Sequence[int]) -> list[Chunk | None]:
        return await self._call(book_id, lambda book: book.read(refs), [None] * len(refs))

    async def lesson(self, book_id: str, lesson_id: str) -> list[Chunk]:
        wanted = conditions.of_lesson(book_id, lesson_id)
        chunks: list[Chunk] = await self._call(book_id, lambda book: book.chunks(wanted), [])
        return sorted(chunks, key=lambda chunk: (chunk.revision, chunk.index))

    async def chunk(self, book_id: str, chunk_id: str) -> list[Chunk]:
        wanted = conditions.of_chunk(book_id, chunk_id)
        return await self._call(book_id, lambda book: book.chunks(wanted), [])

    async def revisions(self, book_id: str) -> dict[str, int]:
        return await self._call_in_thread(book_id, lambda book: book.revisions(), {})

    async def remove(self, book_id: str, revisions: Sequence[str]) -> int:
        if not revisions:
            return 0
        return await self._call_in_thread(book_id, lambda book: book.remove(list(revisions)), 0)

    async def vectors(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not chunk_ids:
            return {}
        return await self._call(book_id, lambda book: book.vectors(chunk_ids), {})

    async def export(self, book_id: str, revisions: Sequence[str]) -> list[EmbeddedChunk]:
        if not revisions:
            return []
        return await self._call_in_thread(book_id, lambda book: book.export(revisions), [])

    async def verify(self, book_id: str) -> dict[str, int]:
        return await self._call_in_thread(book_id, lambda book: book.verify(), {})

    async def unknown(self, book_id: str, words: Sequence[str]) -> frozenset[str]:
        return await self._call(book_id, lambda book: book.unknown(words), frozenset(words))

    async def check(self) -> None:
        if not self._folder.is_unchanged():
            raise IndexUnavailable(
                f"The index in {self._folder.path} was removed or replaced.",
                advice="Restart the service. If the books are incomplete, run `bookwise doctor --repair`.",
            )

    async def open_only_book(self) -> None:
        """Opens the book now if it is the only one: the first question need not wait, and damage shows at once."""
        shards = self._folder.shards()
        if len(shards) == 1:
            async with self._lock:
                await self._open(shards[0])

    async def damaged_books(self) -> dict[Path, str]:
        """Why books cannot be opened, by the folders of their shards. Opens every book."""
        damaged = {}
        async with self._lock:
            for shard in self._folder.shards():
                try:
                    await self._open(shard)
                except DamagedData as error:
                    damaged[shard] = error.message
        return damaged

    @asynccontextmanager
    async def hold_writes(self) -> AsyncIterator[None]:
        """Inside the block nothing is written, and the files contain everything that was written before."""
        async with self._lock:
            yield

    async def close(self) -> None:
        async with self._lock:
            while self._open_books:
                self._close_book()

    async def _call(self, book_id: str, call: Callable[[BookShard], T], without: T) -> T:
        """The result of a short read of one book, or `without` if it has no chunks."""
        shard = self._folder.shard_of(book_id)
        book = self._open_books.get(shard)
        if book is not None:
            self._open_books.move_to_end(shard)
        elif is_complete(shard):
            async with self._lock:
                book = await self._open(shard)
        with engine_errors():
            return without if book is None else call(book)

    async def _call_in_thread(self, book_id: str, call: Callable[[BookShard], T], without: T) -> T:
        async with self._lock:
            book = await self._open(self._folder.shard_of(book_id))
            return without if book is None else await _in_thread(partial(call, book))

    async def _open_to_write(self, book_id: str) -> BookShard:
        shard = self._folder.shard_of(book_id)
        return await self._open(shard) or await self._load(shard, partial(self._create, shard, book_id))

    async def _open(self, shard: Path) -> BookShard | None:
        """The book in this folder; None if there is none. The caller must hold the lock."""
        if shard in self._open_books:
            self._open_books.move_to_end(shard)
            return self._open_books[shard]
        if not is_complete(shard):
            return None
        return await self._load(shard, lambda: BookShard(load_shard(shard), self._terms))

    async def _load(self, shard: Path, load: Callable[[], BookShard]) -> BookShard:
        with opening_errors(shard):
            book = self._open_books[shard] = await anyio.to_thread.run_sync(load)
        if len(self._open_books) > OPEN_BOOKS_MAX:
            self._close_book()
        return book

    def _create(self, folder: Path, book_id: str) -> BookShard:
        shard = create_shard(folder, book_id, self._folder.size)
        complete(shard)
        return BookShard(shard, self._terms)

    def _close_book(self) -> None:
        """Closes the book that was used least recently."""
        _, book = self._open_books.popitem(last=False)
        with engine_errors():
            book.close()


async def _in_thread(call: Callable[[], T]) -> T:
    with engine_errors():
        return await anyio.to_thread.run_sync(call)
