"""Locator → the names that each face uses for a place in the book."""

from bookwise.domain.books import Locator


def trail(where: Locator) -> str:
    """The breadcrumb on one line; empty for a lesson at the top level of the book."""
    return " › ".join(where.breadcrumb)


def chapter(where: Locator) -> str:
    return trail(where) or where.page_title


def section(where: Locator) -> str:
    return where.section_title or where.page_title


def address(where: Locator) -> str:
    """The page's URL, or the source file of an unpublished book."""
    return where.url or where.source_file
