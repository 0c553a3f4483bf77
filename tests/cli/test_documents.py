"""PDF and EPUB books on the command line."""

from pathlib import Path

from tests.support.command_line import CommandLine
from tests.support.documents import Bookmark, epub_file, pdf_file, prose
from tests.support.small_books import ASKS_SERVICE, ASKS_TOPIC, SERVICE, TOPIC


def test_an_answer_from_a_pdf_cites_the_page(bookwise: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "robots.pdf"
    outline = (Bookmark(title="Topics", page=1), Bookmark(title="Services", page=2))
    path.write_bytes(pdf_file([prose("Topics", TOPIC), prose("Services", SERVICE)], outline, title="Robots"))
    assert bookwise("ingest", str(path)) == 0
    assert bookwise.out.startswith("Robots (robots): 2 lessons published")
    assert bookwise("ask", ASKS_SERVICE) == 0
    assert "[1] Services, page 2  similarity" in bookwise.out
    assert "    robots.pdf#page=2\n" in bookwise.out
    assert bookwise("ingest", str(path)) == 0
    assert "0 lessons published, 2 unchanged" in bookwise.out


def test_an_epub_is_answered_from(bookwise: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "robots.epub"
    path.write_bytes(epub_file({"t.xhtml": f"<h1>Topics</h1><p>{TOPIC}</p>", "s.xhtml": f"<h1>S</h1><p>{SERVICE}</p>"}))
    assert bookwise("ingest", str(path)) == 0
    assert bookwise("ask", ASKS_TOPIC) == 0
    assert "[1] Topics  similarity" in bookwise.out
    assert "robots.epub/topics" in bookwise.out


def test_a_scan_fails_with_the_way_to_recognize_it(bookwise: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf_file([[], []]))
    assert bookwise("ingest", str(path)) == 1
    assert "Failed: scan.pdf: no-text: None of the 2 pages contains text." in bookwise.err
