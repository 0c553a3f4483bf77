"""Books ↔ table rows of any driver."""

from typing import Any

from bookwise.domain.books import Book, Calibration, Module


def book_row(book: Book) -> dict[str, Any]:
    """The columns of a book."""
    return {
        "id": book.id,
        "title": book.title,
        "base_url": book.base_url,
        "language": book.language,
        "source": book.source,
        "modules": [{"name": module.name, "title": module.title, "aliases": module.aliases} for module in book.modules],
        "embedder": book.embedder,
        "embedder_name": book.embedder_name,
        "embedder_size": book.embedder_size,
        "calibration": None if book.calibration is None else {"knots": book.calibration.knots},
    }


def book_from(row: Any) -> Book:
    """The book in a row, whose columns are attributes."""
    return Book(
        id=row.id,
        title=row.title,
        base_url=row.base_url,
        language=row.language,
        source=row.source,
        modules=tuple(
            Module(name=module["name"], title=module["title"], aliases=tuple(module["aliases"]))
            for module in row.modules
        ),
        embedder=row.embedder,
        embedder_name=row.embedder_name,
        embedder_size=row.embedder_size,
        calibration=None if row.calibration is None else _to_calibration(row.calibration),
    )


def _to_calibration(column: dict[str, list[list[float]]]) -> Calibration:
    # PostgreSQL returns whole numbers as integers
    return Calibration(knots=tuple((float(x), float(y)) for x, y in column["knots"]))
