"""The names that interfaces show for a place in the book."""

from bookwise.domain.books import Locator
from bookwise.schemas import locations


def place(source_file: str, anchor: str, url: str = "") -> Locator:
    return Locator(
        book_id="b",
        module="main",
        chapter=1,
        lesson=0,
        source_file=source_file,
        page_title="Arms",
        section_title="Joints",
        anchor=anchor,
        url=url,
    )


def test_a_place_in_a_pdf_has_its_page() -> None:
    where = place("files/robots.pdf/arms", "page=88")
    assert (locations.section(where), locations.address(where)) == ("Joints, page 88", "files/robots.pdf#page=88")
    published = place("robots.pdf/arms", "page=88", "https://r.example/robots.pdf#page=88")
    assert locations.address(published) == "https://r.example/robots.pdf#page=88"


def test_other_places_have_none() -> None:
    for source_file, anchor in (("arms.md", "page=88"), ("robots.epub/arms", "joints"), ("robots.pdf/arms", "")):
        where = place(source_file, anchor)
        assert (where.page, locations.section(where), locations.address(where)) == (None, "Joints", source_file)
