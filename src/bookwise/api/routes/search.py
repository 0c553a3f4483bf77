"""POST /search, GET /context, GET /lesson: reading the book without asking it."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Body, Query, Request

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
from bookwise.retrieval.search import search as find
from bookwise.schemas.books import DocumentChunk, SearchRequest, SearchResponse
from bookwise.schemas.wire import Shape

router = APIRouter(tags=["search"], route_class=StrictRoute)

NEIGHBOURS = Query(ge=0, le=read.NEIGHBOURS_MAX)
EXAMPLES = {
    "plain": {"summary": "A question in your own words", "value": {"text": "How do nodes communicate?"}},
    "filtered": {
        "summary": "Within one module, for small hardware",
        "value": {"text": "publish a message", "module_filter": "ros2", "hardware_tier_filter": 2, "limit": 3},
    },
}


class ContextResponse(Shape):
    """A chunk and what stands before and after it in its lesson, in reading order."""

    chunk: DocumentChunk
    before: tuple[DocumentChunk, ...]
    after: tuple[DocumentChunk, ...]


class LessonResponse(Shape):
    """A whole lesson, in reading order."""

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
async def search(
    request: Request, caller: Reader, wanted: Annotated[SearchRequest, Body(openapi_examples=EXAMPLES)]
) -> SearchResponse:
    """The passages of one book that fit best. Without `book_id`: the only book, or the default one."""
    if len(wanted.text) > QUESTION_MAX:
        raise InvalidInput(f"text has {len(wanted.text):,} characters; at most {QUESTION_MAX:,} are read.")
    service = state_of(request)
    named = wanted.book_id if "book_id" in wanted.model_fields_set else None
    book = await book_for(caller, named, service, module=wanted.module_filter)
    found = await find(wanted.model_copy(update={"book_id": book.id}).query(), service.app.search_kit)
    if service.telemetry:
        service.telemetry.searched(found)
    return SearchResponse.of(found)


@router.get("/context/{chunk_id}", summary="Read around a chunk", responses=documented(404))
async def context(
    chunk_id: UUID,
    request: Request,
    caller: Reader,
    before: Annotated[int, NEIGHBOURS] = 1,
    after: Annotated[int, NEIGHBOURS] = 1,
) -> ContextResponse:
    """A chunk with its neighbours; it stops at the ends of the lesson."""
    service = state_of(request)
    found = await read.context(
        None, str(chunk_id), before=before, after=after, index=service.app.index, catalog=service.app.catalog
    )
    if not caller.may_see(found.chunk.locator.book_id):
        raise _no_chunk(chunk_id)
    return ContextResponse(
        chunk=DocumentChunk.of(found.chunk),
        before=tuple(map(DocumentChunk.of, found.before)),
        after=tuple(map(DocumentChunk.of, found.after)),
    )


def _no_chunk(chunk_id: UUID) -> NotFound:
    """Word for word what is said of a chunk that does not exist."""
    return NotFound(
        f"There is no chunk {chunk_id}.",
        advice="It may belong to a lesson that was changed or removed; search again.",
    )


@router.get("/lesson/{parent_doc_id}", summary="Read a lesson", responses=documented(404))
async def lesson(
    parent_doc_id: UUID,
    request: Request,
    caller: Reader,
    book_id: Annotated[str | None, Query(max_length=64, description="Default: whichever book has it.")] = None,
) -> LessonResponse:
    """A whole lesson."""
    service = state_of(request)
    return LessonResponse.of(await _lesson(str(parent_doc_id), caller, book_id, service))


async def _lesson(lesson_id: str, caller: Caller, book_id: str | None, service: ServiceState) -> tuple[Chunk, ...]:
    shelf = visible(service, caller)
    books = [await shelf.book(book_id)] if book_id is not None else await shelf.books()
    for book in books:
        try:
            return await read.lesson(book.id, lesson_id, index=service.app.index, catalog=shelf)
        except NotFound:
            continue
    raise NotFound(f"There is no lesson {lesson_id}.", advice="POST /search shows each hit's parent_doc_id.")
