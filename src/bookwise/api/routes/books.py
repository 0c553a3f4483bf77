"""GET /books: the books a caller may see, and which of them a request is about."""

from datetime import datetime

from fastapi import APIRouter, Request

from bookwise.api.auth.access import Reader, VisibleBooks
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.books import Book
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.wire import Shape, UtcTime

router = APIRouter(tags=["books"], route_class=StrictRoute)


class ListedModule(Shape):
    name: str
    title: str
    aliases: tuple[str, ...]


class ListedBook(Shape):
    """A book, and how much of it can be searched."""

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
    books: tuple[ListedBook, ...]


@router.get("/books", summary="List the books")
async def books(request: Request, caller: Reader) -> BooksResponse:
    """The books you may ask about."""
    service = state_of(request)
    return BooksResponse(books=tuple([await _listed(book, service) for book in await visible(service, caller).books()]))


async def _listed(book: Book, service: ServiceState) -> ListedBook:
    records = await service.app.catalog.records(book.id)
    moments: list[datetime] = [moment for moment in await service.app.catalog.last_ingested(book.id) if moment]
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


def visible(service: ServiceState, caller: Caller) -> VisibleBooks:
    return VisibleBooks(service.app.catalog, caller)


async def book_for(caller: Caller, book_id: str | None, service: ServiceState) -> Book:
    """The named book, the only one, or the default one, among those the caller may see."""
    return await select_book(visible(service, caller), book_id)
