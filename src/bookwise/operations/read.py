"""Search and read a book. This module imports little, so that a search starts fast."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwise.domain.books import Chunk
from bookwise.domain.search import Filter, SearchQuery, SearchResult
from bookwise.retrieval import read
from bookwise.retrieval.search import SearchKit, search
from bookwise.retrieval.select_book import select_book

if TYPE_CHECKING:
    from bookwise.wiring import App


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBook:
    """The best passages of one book."""

    text: str
    book: str | None
    limit: int
    tier: int
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    levels: tuple[str, ...] = ()
    layer: str | None = None
    lesson_id: str | None = None

    async def run(self, kit: SearchKit) -> SearchResult:
        scope = Filter(
            book_id=(await select_book(kit.catalog, self.book, self.module)).id,
            hardware_tier=self.tier,
            module=self.module,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson,
            proficiency_levels=self.levels,
            layer=self.layer,
            lesson_id=self.lesson_id,
        )
        return await search(SearchQuery(text=self.text, filter=scope, limit=self.limit), kit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLesson:
    """A whole lesson, by its id or its source file."""

    lesson: str
    book: str | None

    async def run(self, app: "App") -> tuple[Chunk, ...]:
        book_id = (await select_book(app.catalog, self.book)).id
        ids = {r.source_file: r.lesson_id for r in await app.catalog.records(book_id)}
        return await read.lesson(book_id, ids.get(self.lesson, self.lesson), index=app.index, catalog=app.reader)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """A chunk with its neighbours, in order."""

    chunk_id: str
    book: str | None
    before: int
    after: int

    async def run(self, app: "App") -> tuple[Chunk, ...]:
        neighbourhood = await read.context(
            self.book, self.chunk_id, before=self.before, after=self.after, index=app.index, catalog=app.reader
        )
        return (*neighbourhood.before, neighbourhood.chunk, *neighbourhood.after)
