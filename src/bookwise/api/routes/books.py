"""GET /books, DELETE /books/{book_id}: list and remove books. Also selects the book of a request."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field

from bookwise.api.auth.access import Admin, Reader, VisibleBooks, require_book
from bookwise.api.problems import documented
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.books import Book, Module
from bookwise.domain.errors import NotFound
from bookwise.operations.book_guide import read_guide
from bookwise.operations.books import RemoveBook
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_TIME, Shape, UtcTime, examples

router = APIRouter(tags=["books"], route_class=StrictRoute)

BookId = Annotated[str, Path(max_length=64, description="Book id.")]


_BOOK_EXAMPLE: dict[str, Any] = {
    "id": EXAMPLE_BOOK_ID,
    "title": "Physical AI",
    "language": "en",
    "base_url": "https://book.example",
    "modules": [{"name": "ros2", "title": "ROS 2", "aliases": []}],
    "embedder": "all-MiniLM-L6-v2",
    "lessons": 29,
    "chunks": 214,
    "last_ingested": EXAMPLE_TIME,
}


class ListedModule(Shape):
    """A part of a book that a search can be limited to."""

    name: str
    title: str
    aliases: tuple[str, ...]


class ListedBook(Shape):
    """A book, with the number of its searchable lessons and chunks."""

    id: str
    title: str
    language: str
    base_url: str
    modules: tuple[ListedModule, ...]
    embedder: str
    lessons: int
    chunks: int
    last_ingested: UtcTime | None = None


class BookFilters(Shape):
    """The values that a question can be limited to. A filter with fewer than two values is of no use."""

    modules: tuple[ListedModule, ...]
    chapters: tuple[int, ...]
    hardware_tiers: tuple[int, ...]
    proficiency_levels: tuple[str, ...]


class BookDetails(ListedBook):
    """A book with what helps a reader to begin."""

    model_config = examples(
        {
            **_BOOK_EXAMPLE,
            "questions": ["What is a node?", "How do nodes communicate?", "How do I create a workspace?"],
            "filters": {
                "modules": [{"name": "ros2", "title": "ROS 2", "aliases": []}],
                "chapters": [1, 2],
                "hardware_tiers": [1, 2],
                "proficiency_levels": ["A2", "B1"],
            },
        }
    )

    questions: tuple[str, ...] = Field(description="Questions to start with, at most four.")
    filters: BookFilters


class BooksResponse(Shape):
    """The books a caller may see."""

    model_config = examples({"books": [_BOOK_EXAMPLE]})

    books: tuple[ListedBook, ...]


@router.get("/books", summary="List the books")
async def books(request: Request, caller: Reader) -> BooksResponse:
    """Returns the books you can ask about."""
    state = state_of(request)
    return BooksResponse(books=tuple([await _listed(book, state) for book in await visible(state, caller).books()]))


@router.get("/books/{book_id}", summary="Read about a book", responses=documented(404))
async def book(book_id: BookId, request: Request, caller: Reader) -> BookDetails:
    """Returns a book with questions to start with and the values of its filters."""
    state = state_of(request)
    selected = await book_for(caller, book_id, state)
    guide = await read_guide(selected, state.app)
    known = {module.name: module for module in selected.modules}
    filters = BookFilters(
        modules=tuple(_module(known.get(name) or Module(name=name)) for name in guide.modules),
        chapters=guide.chapters,
        hardware_tiers=guide.hardware_tiers,
        proficiency_levels=guide.proficiency_levels,
    )
    listed = await _listed(selected, state)
    return BookDetails(**dict(listed), questions=guide.questions, filters=filters)


@router.delete("/books/{book_id}", status_code=204, summary="Remove a book", responses=documented(404, 409, 507))
async def remove(book_id: BookId, request: Request, caller: Admin) -> None:
    """Removes a book and its chunks from the index. Its sessions and jobs stay."""
    require_book(caller, book_id)
    state = state_of(request)
    async with state.runner.pause_opening(book_id):
        await RemoveBook(book_id=book_id).run(state.app)


async def _listed(book: Book, state: ServiceState) -> ListedBook:
    records = await state.app.catalog.records(book.id)
    moments: list[datetime] = [moment for moment in await state.app.catalog.last_ingested(book.id) if moment]
    return ListedBook(
        id=book.id,
        title=book.title,
        language=book.language,
        base_url=book.base_url,
        modules=tuple(map(_module, book.modules)),
        embedder=book.embedder_name,
        lessons=len(records),
        chunks=sum(record.chunk_count for record in records),
        last_ingested=max(moments, default=None),
    )


def _module(module: Module) -> ListedModule:
    return ListedModule(name=module.name, title=module.title, aliases=module.aliases)


def visible(state: ServiceState, caller: Caller) -> VisibleBooks:
    return VisibleBooks(state.app.reader, caller)


async def book_for(caller: Caller, book_id: str | None, state: ServiceState, *, module: str | None = None) -> Book:
    """The named book, the only one, or the default one, among those the caller may see.

    Raises `InvalidInput` when the book has no such module.
    """
    try:
        return await select_book(visible(state, caller), book_id, module)
    except NotFound as error:
        raise NotFound(error.message, advice="GET /books lists the books.") from None
