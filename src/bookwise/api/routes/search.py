"""POST /search, GET /context, GET /lesson: search and read a book without asking a question."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request

from bookwise.api.auth.access import Reader
from bookwise.api.problems import documented
from bookwise.api.routes.books import book_for, visible
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.answers import QUESTION_MAX
from bookwise.domain.books import Chunk
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.retrieval import read
from bookwise.retrieval.search import search as search_book
from bookwise.schemas.books import CHUNK_EXAMPLE, EXAMPLE_FILE, DocumentChunk
from bookwise.schemas.search import SearchRequest, SearchResponse
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_LESSON_ID, Shape, examples

router = APIRouter(tags=["search"], route_class=StrictRoute)

ChunkId = Annotated[UUID, Path(description="Chunk id, from a search result or a source.")]
LessonId = Annotated[UUID, Path(description="Lesson id: the `parent_doc_id` of a search result.")]
Before = Annotated[int, Query(ge=0, le=read.NEIGHBOURS_MAX, description="Number of chunks before it.")]
After = Annotated[int, Query(ge=0, le=read.NEIGHBOURS_MAX, description="Number of chunks after it.")]
BookId = Annotated[str | None, Query(max_length=64, description="Book id. Default: the book that has the lesson.")]


class ContextResponse(Shape):
    """A chunk and its neighbours in the lesson, in reading order."""

    model_config = examples({"chunk": CHUNK_EXAMPLE, "before": [], "after": []})

    chunk: DocumentChunk
    before: tuple[DocumentChunk, ...]
    after: tuple[DocumentChunk, ...]


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
    chunk_id: ChunkId, request: Request, caller: Reader, before: Before = 1, after: After = 1
) -> ContextResponse:
    """Returns a chunk with its neighbours in the same lesson."""
    app = state_of(request).app
    neighbourhood = await read.context(
        None, str(chunk_id), before=before, after=after, index=app.index, catalog=app.reader
    )
    if not caller.may_see(neighbourhood.chunk.locator.book_id):
        raise read.chunk_not_found(str(chunk_id))
    return ContextResponse(
        chunk=DocumentChunk.of(neighbourhood.chunk),
        before=tuple(map(DocumentChunk.of, neighbourhood.before)),
        after=tuple(map(DocumentChunk.of, neighbourhood.after)),
    )


@router.get("/lesson/{parent_doc_id}", summary="Read a lesson", responses=documented(404))
async def lesson(parent_doc_id: LessonId, request: Request, caller: Reader, book_id: BookId = None) -> LessonResponse:
    """Returns all chunks of a lesson."""
    return LessonResponse.of(await _lesson(str(parent_doc_id), caller, book_id, state_of(request)))


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
