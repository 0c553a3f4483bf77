"""An EPUB becomes chapters in the order of its spine."""

import struct

import pytest

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.documents import epub_archive
from bookwise.ingestion.documents.document import Document
from bookwise.ingestion.documents.epub import read_epub
from bookwise.ingestion.documents.epub_archive import EpubArchive
from bookwise.ingestion.parsing.html import html_parts
from bookwise.ingestion.parsing.sections import Heading
from tests.support.documents import CONTAINER, epub_file, xhtml, zip_file

TWO = {"b.xhtml": "<h1>Arms</h1><p>Reach.</p>", "a.xhtml": "<h1>Legs</h1><p>Walk.</p>"}
TOC = '<ol><li><a href="b.xhtml">1. Arms</a></li><li><a href="a.xhtml#x">2. Legs</a></li></ol>'
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'


def encryption(algorithm: str, member: str) -> str:
    return (
        f'<encryption><EncryptedData><EncryptionMethod Algorithm="{algorithm}"/>'
        f'<CipherData><CipherReference URI="{member}"/></CipherData></EncryptedData></encryption>'
    )


def titles(document: Document) -> list[str]:
    return [chapter.title for chapter in document.chapters]


def texts(document: Document, index: int = 0) -> list[str]:
    parts = html_parts(document.chapters[index].content.decode())[1]
    return [part.title if isinstance(part, Heading) else getattr(part, "text", "") for part in parts]


def test_the_spine_gives_the_order_and_the_contents_the_titles() -> None:
    book = read_epub(epub_file(TWO, TOC, title="Robots"))
    assert book.title == "Robots"
    assert [(c.name, c.title, c.number) for c in book.chapters] == [("1-arms", "1. Arms", 1), ("2-legs", "2. Legs", 2)]
    assert texts(book) == ["Arms", "Reach."]


def test_without_contents_the_headings_give_the_titles() -> None:
    assert titles(read_epub(epub_file(TWO))) == ["Arms", "Legs"]
    assert titles(read_epub(epub_file({"part_one.xhtml": "<p>Text.</p>"}))) == ["Part one"]


def test_the_contents_of_epub_2_are_read() -> None:
    ncx = (
        "<ncx><navMap><navPoint><navLabel><text>Part I</text></navLabel>"
        '<navPoint><navLabel><text>The arm</text></navLabel><content src="b.xhtml"/></navPoint>'
        "</navPoint></navMap></ncx>"
    )
    package = (
        '<package><manifest><item id="n" href="toc.ncx"/><item id="b" href="b.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine toc="n"><itemref idref="b"/></spine></package>'
    )
    members = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package, "OEBPS/toc.ncx": ncx}
    raw = zip_file(members | {"OEBPS/b.xhtml": xhtml("<p>Reach.</p>")})
    [chapter] = read_epub(raw).chapters
    assert (chapter.title, chapter.parents) == ("The arm", ("Part I",))


def test_a_file_that_the_contents_do_not_list_continues_its_chapter() -> None:
    pages = {"cover.xhtml": "<p>Robots</p>", **TWO, "a2.xhtml": "<p>Run.</p>"}
    book = read_epub(epub_file(pages, TOC))
    assert titles(book) == ["1. Arms", "2. Legs"]
    assert texts(book, 1) == ["Legs", "Walk.", "Run."]


def test_a_file_with_several_chapters_is_cut_at_them() -> None:
    body = (
        '<div><p>Before.</p><h2 id="one">One</h2><p>First.</p></div><div><a id="two"/><h2>Two</h2><p>Second.</p></div>'
    )
    toc = (
        '<ol><li><a href="z.xhtml">Zero</a></li><li><a href="a.xhtml#one">One</a><ol><li><a href="a.xhtml#deep">'
        'Deep</a></li></ol></li><li><a href="a.xhtml#two">Two</a></li></ol>'
    )
    book = read_epub(epub_file({"z.xhtml": "<p>Nothing.</p>", "a.xhtml": body}, toc))
    assert titles(book) == ["Zero", "One", "Two"]
    assert [texts(book, i) for i in range(3)] == [["Nothing.", "Before."], ["One", "First."], ["Two", "Second."]]


def test_a_page_of_links_is_no_chapter() -> None:
    links = "".join(f'<li><a href="b.xhtml">Chapter {i}</a></li>' for i in range(9))
    assert titles(read_epub(epub_file({"toc.xhtml": f"<ol>{links}</ol>"} | TWO))) == ["Arms", "Legs"]


def test_code_notes_and_several_articles_are_kept_and_images_dropped() -> None:
    body = (
        '<article><h1 id="arm">Arm</h1><a id="x"/><p>Reach<img src="a.png" alt="A"/> far.</p></article>'
        '<article><pre><code class="language-python">grip()</code></pre></article><aside><p>Mind it.</p></aside>'
    )
    assert texts(read_epub(epub_file({"a.xhtml": body}))) == [
        "Arm",
        "Reach far.",
        "```python\ngrip()\n```",
        "Mind it.",
    ]


def test_one_bad_page_costs_no_other_page() -> None:
    missing = TWO | {"gone.xhtml": ""}
    raw = epub_file(missing, extra={"OEBPS/gone.xhtml": b"\xff\xfe\x00"})
    good_a, good_b, bad = read_epub(raw).chapters
    assert (good_a.error, good_b.error, bad.title) == (None, None, "Gone")
    assert bad.error is not None
    assert bad.error.reason == "encoding"


def test_a_declared_encoding_is_used() -> None:
    page = '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>Caf\u00e9 text.</p></body></html>'
    raw = epub_file({"a.xhtml": ""}, extra={"OEBPS/a.xhtml": page.encode("latin-1")})
    assert texts(read_epub(raw)) == ["Caf\u00e9 text."]


def test_a_protected_book_is_reported_and_scrambled_fonts_are_not() -> None:
    aes = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/a.xhtml")
    with pytest.raises(BadLesson, match="DRM") as caught:
        read_epub(epub_file(TWO, extra={"META-INF/encryption.xml": aes}))
    assert caught.value.reason == "encrypted"
    font = encryption("http://www.idpf.org/2008/embedding", "OEBPS/font.otf")
    assert len(read_epub(epub_file(TWO, extra={"META-INF/encryption.xml": font})).chapters) == 2


@pytest.mark.parametrize("raw", [b"", b"no archive", b"PK\x05\x06", epub_file(TWO)[:300], zip_file({"a.txt": "a"})])
def test_a_damaged_archive_is_reported(raw: bytes) -> None:
    with pytest.raises(BadLesson) as caught:
        read_epub(raw)
    assert caught.value.reason in ("damaged", "missing")


def test_an_archive_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epub_archive, "MAX_MEMBER_BYTES", 10_000)
    book = read_epub(epub_file(TWO | {"bomb.xhtml": "<p>" + "a" * 100_000}))
    assert [chapter.error.reason for chapter in book.chapters if chapter.error] == ["too-large"]
    monkeypatch.setattr(epub_archive, "MAX_MEMBERS", 2)
    with pytest.raises(BadLesson, match="files; the limit is 2"):
        read_epub(epub_file(TWO))


def test_a_directory_that_is_too_large_is_refused_before_it_is_read() -> None:
    raw = bytearray(epub_file(TWO))
    struct.pack_into("<L", raw, raw.rfind(b"PK\x05\x06") + 12, 2**31)
    with pytest.raises(BadLesson, match="too many files"):
        read_epub(bytes(raw))


def test_entities_are_refused() -> None:
    with pytest.raises(BadLesson, match="not valid XML"):
        read_epub(epub_file(TWO, extra={"META-INF/container.xml": BOMB + CONTAINER}))


def test_a_name_cannot_lead_out_of_the_archive() -> None:
    book = read_epub(epub_file({"../../../../etc/passwd": "<p>Text.</p>"}))
    [chapter] = book.chapters
    assert chapter.error is not None
    assert chapter.error.reason == "missing"
    assert "/" not in chapter.name


def test_a_missing_member_is_reported() -> None:
    with pytest.raises(BadLesson, match="does not contain the file"):
        EpubArchive(epub_file(TWO)).read("OEBPS/none.xhtml")
