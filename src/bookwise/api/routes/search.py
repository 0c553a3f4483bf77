"""POST /search, GET /context, GET /lesson: search and read a book without asking a question."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field, StringConstraints

from bookwise.api.auth.access import Reader
from bookwise.api.problems import documented
from bookwise.api.rendering.lessons import passage_html, section_htmls
from bookwise.api.rendering.links import LessonLinks
from bookwise.api.routes.books import book_for, visible
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.answers import QUESTION_MAX
from bookwise.domain.books import Chunk
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.jobs import LessonRecord
from bookwise.domain.lesson_order import neighbours
from bookwise.retrieval import read
from bookwise.retrieval.search import search as search_book
from bookwise.retrieval.sections import section_text
from bookwise.schemas.books import CHUNK_EXAMPLE, EXAMPLE_FILE, DocumentChunk
from bookwise.schemas.search import SearchRequest, SearchResponse
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_LESSON_ID, Shape, examples
from bookwise.wiring import App

router = APIRouter(tags=["search"], route_class=StrictRoute)

ChunkId = Annotated[UUID, Path(description="Chunk id, from a search result or a source.")]
LessonId = Annotated[UUID, Path(description="Lesson id: the `parent_doc_id` of a search result.")]
Before = Annotated[int, Query(ge=0, le=read.NEIGHBOURS_MAX, description="Number of chunks before it.")]
After = Annotated[int, Query(ge=0, le=read.NEIGHBOURS_MAX, description="Number of chunks after it.")]
BookId = Annotated[str | None, Query(max_length=64, description="Book id. Default: the book that has the lesson.")]
QUOTE_MAX = 4_000  #: characters
QUOTES_MAX = 10
AsHtml = Annotated[bool, Query(description="Also return the text as safe HTML.")]
Quotes = Annotated[
    list[Annotated[str, StringConstraints(max_length=QUOTE_MAX)]],
    Query(alias="quote", max_length=QUOTES_MAX, description="Words of the text to put into `<mark>` in the HTML."),
]


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How a text of the book is returned."""

    html: bool
    quotes: Sequence[str]


def display_options(html: AsHtml = False, quotes: Quotes = []) -> DisplayOptions:  # noqa: B006 - FastAPI copies it
    return DisplayOptions(html, quotes)


ShownAs = Annotated[DisplayOptions, Depends(display_options)]


class ContextResponse(Shape):
    """A chunk and its neighbours in the lesson, in reading order."""

    model_config = examples({"chunk": CHUNK_EXAMPLE, "before": [], "after": []})

    chunk: DocumentChunk
    before: tuple[DocumentChunk, ...]
    after: tuple[DocumentChunk, ...]
    html: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="On request: the section of the chunk as safe HTML, with `<mark>` around the quotes.",
    )


class LessonSection(Shape):
    """A section of a lesson as HTML."""

    anchor: str
    chunk_ids: tuple[str, ...]
    html: str


class NeighbourLesson(Shape):
    """The lesson before or after another one."""

    parent_doc_id: str
    title: str


class LessonResponse(Shape):
    """A whole lesson, in reading order."""

    model_config = examples(
        {
            "parent_doc_id": EXAMPLE_LESSON_ID,
            "book_id": EXAMPLE_BOOK_ID,
            "title": "Nodes",
            "source_file": EXAMPLE_FILE,
            "url": "https://book.example/ros2/nodes",
            "chunks": [CHUNK_EXAMPLE],
        }
    )

    parent_doc_id: str
    book_id: str
    title: str
    source_file: str
    url: str
    chunks: tuple[DocumentChunk, ...]
    sections: tuple[LessonSection, ...] = Field(
        default=(), exclude_if=operator.not_, description="The lesson as safe HTML, if the request asked for it."
    )
    previous: NeighbourLesson | None = Field(default=None, exclude_if=operator.not_)
    next: NeighbourLesson | None = Field(default=None, exclude_if=operator.not_)

    @classmethod
    def of(cls, chunks: tuple[Chunk, ...]) -> Self:
        first, where = chunks[0], chunks[0].locator
        return cls(
            parent_doc_id=first.lesson_id,
            book_id=where.book_id,
            title=where.page_title,
            source_file=where.source_file,
            url=where.url.partition("#")[0],
            chunks=tuple(map(DocumentChunk.of, chunks)),
        )


@router.post("/search", summary="Search a book", responses=documented(404))
async def search(request: Request, caller: Reader, body: SearchRequest) -> SearchResponse:
    """Returns the best matching passages of one book. Without `book_id`: the only book, or the default book."""
    if len(body.text) > QUESTION_MAX:
        raise InvalidInput(f"text has {len(body.text):,} characters. The limit is {QUESTION_MAX:,}.")
    state = state_of(request)
    book_id = body.book_id if "book_id" in body.model_fields_set else None
    book = await book_for(caller, book_id, state, module=body.module_filter)
    async with state.load_limit.slot():
        result = await search_book(body.model_copy(update={"book_id": book.id}).query(), state.app.search_kit)
    if state.telemetry:
        state.telemetry.searched(result)
    return SearchResponse.of(result)


@router.get("/context/{chunk_id}", summary="Read the context of a chunk", responses=documented(404))
async def context(
    chunk_id: ChunkId, request: Request, caller: Reader, shown: ShownAs, before: Before = 1, after: After = 1
) -> ContextResponse:
    """Returns a chunk with its neighbours in the same lesson."""
    state = state_of(request)
    app, catalog = state.app, visible(state, caller)
    neighbourhood = await read.context(
        None, str(chunk_id), before=before, after=after, index=app.index, catalog=catalog
    )
    chunk = neighbourhood.chunk
    return ContextResponse(
        chunk=DocumentChunk.of(chunk),
        before=tuple(map(DocumentChunk.of, neighbourhood.before)),
        after=tuple(map(DocumentChunk.of, neighbourhood.after)),
        html=await _section_html(chunk, shown, app) if shown.html else None,
    )


@router.get("/lesson/{parent_doc_id}", summary="Read a lesson", responses=documented(404))
async def lesson(
    parent_doc_id: LessonId, request: Request, caller: Reader, shown: ShownAs, book_id: BookId = None
) -> LessonResponse:
    """Returns all chunks of a lesson. With `html`, also its sections as HTML and the lessons before and after it."""
    state = state_of(request)
    chunks = await _lesson(str(parent_doc_id), caller, book_id, state)
    response = LessonResponse.of(chunks)
    return await _with_sections(response, chunks, shown, state) if shown.html else response


async def _section_html(chunk: Chunk, shown: DisplayOptions, app: App) -> str:
    records = await app.catalog.records(chunk.locator.book_id)
    return passage_html(await section_text(chunk, app.index), shown.quotes, _links(chunk, records))


async def _with_sections(
    response: LessonResponse, chunks: tuple[Chunk, ...], shown: DisplayOptions, state: ServiceState
) -> LessonResponse:
    records = await state.app.catalog.records(response.book_id)
    sections = section_htmls(chunks, shown.quotes, _links(chunks[0], records))
    book = await state.app.catalog.book(response.book_id)
    before, after = neighbours(records, response.parent_doc_id, [module.name for module in book.modules])
    return response.model_copy(
        update={
            "sections": tuple(LessonSection(**asdict(section)) for section in sections),
            "previous": before and NeighbourLesson(parent_doc_id=before.lesson_id, title=before.title),
            "next": after and NeighbourLesson(parent_doc_id=after.lesson_id, title=after.title),
        }
    )


def _links(chunk: Chunk, records: Iterable[LessonRecord]) -> LessonLinks:
    where = chunk.locator
    urls = {record.source_file: record.url for record in records if record.url}
    return LessonLinks(where.source_file, where.url.partition("#")[0], urls)


async def _lesson(lesson_id: str, caller: Caller, book_id: str | None, state: ServiceState) -> tuple[Chunk, ...]:
    catalog = visible(state, caller)
    books = [await book_for(caller, book_id, state)] if book_id is not None else await catalog.books()
    for book in books:
        try:
            return await read.lesson(book.id, lesson_id, index=state.app.index, catalog=catalog)
        except NotFound:
            continue
    raise NotFound(
        f"There is no lesson {lesson_id}.", advice="POST /search returns lesson ids in the field parent_doc_id."
    )
