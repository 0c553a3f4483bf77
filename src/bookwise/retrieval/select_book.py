"""Book id, if given → the book to use."""

from bookwise.domain.books import Book
from bookwise.domain.errors import NotFound
from bookwise.domain.search import DEFAULT_BOOK_ID
from bookwise.ports import CatalogReader


async def select_book(catalog: CatalogReader, book_id: str | None) -> Book:
    """The book with this id; without an id, the default book or the only one. Raises `NotFound` otherwise."""
    if book_id is not None:
        return await catalog.book(book_id)
    books = {book.id: book for book in await catalog.books()}
    if not books:
        raise NotFound("There is no book yet.", advice="Run `bookwise ingest PATH` first.")
    if len(books) > 1 and DEFAULT_BOOK_ID not in books:
        raise NotFound(f"There are {len(books)} books: {', '.join(books)}.", advice="Say which one with --book ID.")
    return books.get(DEFAULT_BOOK_ID) or next(iter(books.values()))
