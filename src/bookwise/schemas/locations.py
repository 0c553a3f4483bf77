"""Locator → the words each face has for a place in the book."""

from bookwise.domain.books import Locator


def trail(where: Locator) -> str:
    """The breadcrumb as one line; empty when the lesson stands at the top of the book."""
    return " › ".join(where.breadcrumb)


def chapter(where: Locator) -> str:
    return trail(where) or where.page_title


def section(where: Locator) -> str:
    return where.section_title or where.page_title


def address(where: Locator) -> str:
    """The published place, or the file for a book that is not published."""
    return where.url or where.source_file
