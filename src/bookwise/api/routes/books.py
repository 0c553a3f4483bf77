"""GET /books, DELETE /books/{book_id}: list and remove books. Also selects the book of a request."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request

from bookwise.api.auth.access import Admin, Reader, VisibleBooks, require_book
from bookwise.api.problems import documented
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.books import Book
from bookwise.domain.errors import NotFound
from bookwise.operations.books import RemoveBook
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, EXAMPLE_TIME, Shape, UtcTime, examples

router = APIRouter(tags=["books"], route_class=StrictRoute)


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


class BooksResponse(Shape):
    """The books a caller may see."""

    model_config = examples(
        {
            "books": [
                {
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
            ]
        }
    )

    books: tuple[ListedBook, ...]


@router.get("/books", summary="List the books")
async def books(request: Request, caller: Reader) -> BooksResponse:
    """Returns the books you can ask about."""
    state = state_of(request)
    return BooksResponse(books=tuple([await _listed(book, state) for book in await visible(state, caller).books()]))


@router.delete("/books/{book_id}", status_code=204, summary="Remove a book", responses=documented(404, 409, 507))
async def remove(
    book_id: Annotated[str, Path(max_length=64, description="Book id.")], request: Request, caller: Admin
) -> None:
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
        modules=tuple(ListedModule(name=m.name, title=m.title, aliases=m.aliases) for m in book.modules),
        embedder=book.embedder_name,
        lessons=len(records),
        chunks=sum(record.chunk_count for record in records),
        last_ingested=max(moments, default=None),
    )


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
