"""The chapters of PDF and EPUB files are lessons."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bookwise.domain.books import Chunk
from bookwise.domain.errors import BadLesson
from bookwise.domain.jobs import LessonRecord
from bookwise.ingestion.chunk import ChunkOptions, chunk, lesson_id
from bookwise.ingestion.discover import Discovery, discover, read_lesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.plan import changes, revision_of
from tests.support.documents import Bookmark, epub_file, pdf_file, prose
from tests.support.folders import found, names, rules, urls, written

OUTLINE = (
    Bookmark(title="Preface", page=1),
    Bookmark(title="Chapter 7: Arms", page=2),
    Bookmark(title="Index", page=3),
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def book(arms: str = "An arm reaches far.") -> bytes:
    pages = prose("Preface", "Read this first."), prose("Chapter 7: Arms", arms), prose("Index", "arm, 2")
    return pdf_file(pages, OUTLINE, title="Robots")


def chunks(root: Path, discovery: Discovery) -> list[Chunk]:
    lessons = [parse(file, read_lesson(root, file)) for file in discovery.files]
    return [c for lesson in lessons for c in chunk(lesson, ChunkOptions(), revision="r", now=NOW)]


def records(discovery: Discovery) -> list[LessonRecord]:
    return [
        LessonRecord(
            book_id=file.book_id,
            source_file=file.source_file,
            lesson_id=lesson_id(file),
            revision=revision_of(file, "recipe"),
            file_hash=file.file_hash,
            position=file.position,
            title="",
            url="",
            chunk_ids=(),
            ingested_at=NOW,
        )
        for file in discovery.files
    ]


def test_one_pdf_is_a_book(tmp_path: Path) -> None:
    root = written(tmp_path, {"robots.pdf": book(), "other.md": "# Other"}) / "robots.pdf"
    discovery = discover(root)
    assert (discovery.book_id, discovery.title, discovery.site) == ("robots", "Robots", "document")
    assert names(discovery) == ["robots.pdf/preface", "robots.pdf/chapter-7-arms"]
    assert [file.position.chapter for file in discovery.files] == [0, 7]
    assert rules(discovery) == {"robots.pdf/index": "not-a-lesson"}
    assert discovery.warnings == ()


def test_a_chunk_of_a_pdf_knows_its_page(tmp_path: Path) -> None:
    root = written(tmp_path, {"robots.pdf": book()}) / "robots.pdf"
    _, arms = chunks(root, discover(root))
    assert (arms.locator.page, arms.locator.address) == (2, "robots.pdf#page=2")
    assert arms.text.endswith("An arm reaches far.")


def test_a_published_pdf_is_linked_at_its_page(tmp_path: Path) -> None:
    toml = '[book]\nbase_url = "https://robots.example/"\n'
    discovery = found(tmp_path, {"files/robots.pdf": book(), "bookwise.toml": toml})
    assert set(urls(discovery).values()) == {"https://robots.example/files/robots.pdf"}
    assert chunks(tmp_path, discovery)[1].locator.url == "https://robots.example/files/robots.pdf#page=2"


def test_chapters_without_numbers_are_counted(tmp_path: Path) -> None:
    pages = {"a.xhtml": "<h1>Arms</h1><p>Reach.</p>", "b.xhtml": "<h1>Legs</h1><p>Walk.</p>"}
    discovery = found(tmp_path, {"robots.epub": epub_file(pages)})
    assert [(file.position.chapter, file.position.lesson) for file in discovery.files] == [(1, 0), (2, 0)]
    assert set(urls(discovery).values()) == {""}


def test_several_documents_are_one_book(tmp_path: Path) -> None:
    files = {"b2.epub": epub_file({"a.xhtml": "<h1>Legs</h1><p>Walk.</p>"}, title="Second"), "b1.pdf": book()}
    discovery = found(tmp_path, files)
    assert names(discovery) == ["b1.pdf/preface", "b1.pdf/chapter-7-arms", "b2.epub/legs"]
    assert [file.breadcrumb for file in discovery.files] == [("Robots",), ("Robots",), ("Second",)]


def test_documents_next_to_lessons_are_reported(tmp_path: Path) -> None:
    discovery = found(tmp_path, {"a.md": "# A", "static/robots.pdf": book(), "static/x.epub": b""})
    assert names(discovery) == ["a.md"]
    [warning] = discovery.warnings
    assert warning.startswith("static/robots.pdf and 1 more: PDF and EPUB files next to lessons")
    assert "`bookwise ingest static/robots.pdf`" in warning


def test_excluded_documents_are_not_opened(tmp_path: Path) -> None:
    toml = 'exclude = ["old.pdf"]\n'
    assert names(found(tmp_path, {"old.pdf": b"damaged", "new.pdf": book(), "bookwise.toml": toml}))[0] == (
        "new.pdf/preface"
    )


def test_only_the_changed_chapter_is_published_again(tmp_path: Path) -> None:
    before = found(tmp_path, {"robots.pdf": book()})
    after = found(tmp_path, {"robots.pdf": book("An arm reaches very far.")})
    difference = changes(after.files, records(before), "recipe")
    assert [file.source_file for file in difference.modified] == ["robots.pdf/chapter-7-arms"]
    assert [file.source_file for file in difference.unchanged] == ["robots.pdf/preface"]
    with pytest.raises(BadLesson, match="has changed since"):
        read_lesson(tmp_path, before.files[1])


def test_a_document_that_becomes_unreadable_keeps_its_lessons(tmp_path: Path) -> None:
    before = found(tmp_path, {"robots.pdf": book()})
    after = found(tmp_path, {"robots.pdf": b"damaged"})
    assert [(file.source_file, file.reason) for file in after.unreadable] == [("robots.pdf", "damaged")]
    unreadable = [file.source_file for file in after.unreadable]
    assert changes(after.files, records(before), "recipe", unreadable=unreadable).deleted == ()


def test_a_chapter_that_disappears_while_it_is_ingested_has_changed(tmp_path: Path) -> None:
    before = found(tmp_path, {"robots.pdf": book()})
    written(tmp_path, {"robots.pdf": pdf_file([prose("Nothing else.")])})
    with pytest.raises(BadLesson, match="no longer has the chapter preface"):
        read_lesson(tmp_path, before.files[0])


def test_a_bad_chapter_is_reported_and_the_others_are_kept(tmp_path: Path) -> None:
    pages = {"a.xhtml": "<h1>Arms</h1><p>Reach.</p>", "b.xhtml": ""}
    discovery = found(tmp_path, {"r.epub": epub_file(pages, extra={"OEBPS/b.xhtml": b"\xff"})})
    assert names(discovery) == ["r.epub/arms"]
    assert [file.source_file for file in discovery.unreadable] == ["r.epub/b"]
