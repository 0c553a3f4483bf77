"""Locator → the names that each face uses for a place in the book."""

from bookwise.domain.books import Locator


def trail(where: Locator) -> str:
    """The breadcrumb on one line; empty for a lesson at the top level of the book."""
    return " › ".join(where.breadcrumb)


def chapter(where: Locator) -> str:
    return trail(where) or where.page_title


def section(where: Locator) -> str:
    """The title of the section, with the page of a PDF."""
    title = where.section_title or where.page_title
    return title if where.page is None else f"{title}, page {where.page}"


def address(where: Locator) -> str:
    """The page's URL, or the source file and page of an unpublished book."""
    return where.address
