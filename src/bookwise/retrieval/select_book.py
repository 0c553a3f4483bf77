"""Book id and module, if given → the book to use."""

from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.search import DEFAULT_BOOK_ID
from bookwise.ports import CatalogReader


async def select_book(catalog: CatalogReader, book_id: str | None, module: str | None = None) -> Book:
    """The book with this id; without an id, the default book or the only one.

    Raises `NotFound` when there is none, and `InvalidInput` when the book has modules but not this one.
    """
    book = await _select(catalog, book_id)
    allowed = book.module_names
    if module is not None and allowed and module not in allowed:
        raise InvalidInput(f"Book {book.id!r} has no module {module!r}; it has: {', '.join(sorted(allowed))}.")
    return book


async def _select(catalog: CatalogReader, book_id: str | None) -> Book:
    if book_id is not None:
        return await catalog.book(book_id)
    books = {book.id: book for book in await catalog.books()}
    if not books:
        raise NotFound("There is no book yet.", advice="Run `bookwise ingest PATH` first.")
    if len(books) > 1 and DEFAULT_BOOK_ID not in books:
        raise NotFound(
            f"There are {len(books)} books: {', '.join(books)}.",
            advice="Name one: --book ID in a command, `book` in Python and MCP, `book_id` over HTTP.",
        )
    return books.get(DEFAULT_BOOK_ID) or next(iter(books.values()))
