"""A PDF becomes chapters of paragraphs, code and pages."""

import io

import pytest
from pypdf import PdfReader, PdfWriter

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.documents.document import Document
from bookwise.ingestion.documents.pdf import read_pdf
from tests.support.documents import Bookmark, TextLine, pdf_file, prose

CHAPTERS = (Bookmark(title="1 Arms", page=1), Bookmark(title="2 Legs", page=2))
PARTS = ["wheels", "gears", "belts", "cams", "chains"]
LONG = "A sentence that is long enough to make this end of a section a passage of its own."


def read(*pages: list[TextLine], outline: tuple[Bookmark, ...] = (), title: str = "") -> Document:
    return read_pdf(pdf_file(pages, outline, title=title))


def html(document: Document) -> str:
    return "".join(chapter.content.decode() for chapter in document.chapters)


def test_the_outline_gives_the_chapters_and_their_numbers() -> None:
    book = read(prose("1 Arms", "Arms reach."), prose("2 Legs", "Legs walk."), outline=CHAPTERS, title="Robots")
    assert book.title == "Robots"
    assert [(c.name, c.title, c.number) for c in book.chapters] == [("1-arms", "1 Arms", 1), ("2-legs", "2 Legs", 2)]
    assert book.chapters[1].content.decode() == '<main>\n<h1 id="page=2">2 Legs</h1>\n<p>Legs walk.</p>\n</main>\n'


def test_sections_of_the_outline_are_headings_with_their_pages() -> None:
    sections = (Bookmark(title="Joints", page=1), Bookmark(title="Forward kinematics", page=2))
    chapter = Bookmark(title="Arms", page=1, children=sections)
    pages = prose("Arms", "Intro.", "1.1 Joints", "They bend."), prose("Forward", "kinematics", "It computes.")
    text = html(read(*pages, prose("Legs", "Walk."), outline=(chapter, Bookmark(title="Legs", page=3))))
    assert '<h2 id="page=1">Joints</h2>\n<p>They bend.</p>' in text
    assert '<h2 id="page=2">Forward kinematics</h2>\n<p>It computes.</p>' in text


@pytest.mark.parametrize("title", ["Untitled", "Microsoft Word - arms.doc", "arms_v2.indd", "Document1", "(anonymous)"])
def test_a_placeholder_is_no_title(title: str) -> None:
    assert read(prose("Arms reach."), title=title).title == ""


def test_without_a_title_the_entry_above_all_chapters_is_the_title() -> None:
    chapters = (Bookmark(title="Arms", page=1), Bookmark(title="Legs", page=2))
    pages = prose("Arms reach."), prose("Legs walk.")
    assert read(*pages, outline=(Bookmark(title="Robots", page=1, children=chapters),)).title == "Robots"
    assert read(*pages, outline=chapters).title == ""


def test_an_entry_whose_title_is_not_on_the_page_starts_with_the_page() -> None:
    text = html(read(prose("Arms reach."), prose("Legs walk."), outline=CHAPTERS))
    assert '<h1 id="page=2">2 Legs</h1>\n<p>Legs walk.</p>' in text


def test_chapters_of_parts_are_below_their_part() -> None:
    parts = (
        Bookmark(title="Part I", page=1, children=(Bookmark(title="Arms", page=1), Bookmark(title="Legs", page=2))),
        Bookmark(title="Part II", page=3, children=(Bookmark(title="Eyes", page=3),)),
    )
    book = read(prose("Arms", "Reach."), prose("Legs", "Walk."), prose("Eyes", "See."), outline=parts)
    assert [(c.title, c.parents) for c in book.chapters] == [
        ("Arms", ("Part I",)),
        ("Legs", ("Part I",)),
        ("Eyes", ("Part II",)),
    ]
    assert '<h1 id="page=2">Legs</h1>' in html(book)


def test_one_bookmark_does_not_make_a_long_book_one_chapter() -> None:
    pages = [prose(f"Only this page speaks of {part}.") for part in PARTS * 3]
    assert len(read(*pages, outline=(Bookmark(title="Cover", page=1),)).chapters) == 2


def test_without_an_outline_large_text_gives_the_chapters() -> None:
    def page(title: str, section: str) -> list[TextLine]:
        return [
            TextLine(text=title, size=20, y=700),
            TextLine(text="The text of this page is small."),
            TextLine(text=section, size=14, gap=30),
            TextLine(text="More small text follows here."),
        ]

    book = read(page("Arms", "Joints"), page("Legs", "Knees"))
    assert [chapter.title for chapter in book.chapters] == ["Arms", "Legs"]
    assert '<h2 id="page=2">Knees</h2>' in html(book)


def test_an_outline_of_chapters_only_is_completed_by_large_text() -> None:
    def page(title: str, section: str) -> list[TextLine]:
        lines = [TextLine(text=title, size=10, y=700), TextLine(text="The text of this page is small.")]
        return [*lines, TextLine(text=section, size=14, gap=30), TextLine(text="More small text follows here.")]

    text = html(read(page("1 Arms", "Joints"), page("2 Legs", "Knees"), outline=CHAPTERS))
    assert '<h2 id="page=2">Knees</h2>' in text


def test_without_headings_pages_are_grouped() -> None:
    book = read(*(prose(f"Text number {i} stands alone.") for i in range(12)))
    assert [chapter.name for chapter in book.chapters] == ["pages-1-to-10", "pages-11-to-12"]
    assert '<hr id="page=11">' in book.chapters[1].content.decode()


def test_lines_become_paragraphs_without_hyphens() -> None:
    lines = prose("A manip-", "ulator has a well-", "known end effector.")
    text = html(read([*lines, TextLine(text="A well-known arm.", gap=24)]))
    assert "<p>A manipulator has a well-known end effector.</p>\n<p>A well-known arm.</p>" in text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("It uses Power-", "Shell. PowerShell runs."), "It uses PowerShell. PowerShell runs."),
        (("A ROS-", "Based robot."), "A ROS-Based robot."),
        (("The robot -", "a small one."), "The robot - a small one."),
        (("It is vari -", "able. So is a variable."), "It is variable. So is a variable."),
        (("A soft\xadware pack\xad", "age."), "A soft-ware package."),
    ],
)
def test_a_hyphen_stays_where_it_belongs_to_the_word(lines: tuple[str, ...], expected: str) -> None:
    assert f"<p>{expected}</p>" in html(read(prose(*lines)))


def test_bullets_become_lists() -> None:
    assert "<ul><li>grip the part</li>\n<li>lift it</li></ul>" in html(read(prose("- grip the", "part", "- lift it")))


def test_a_paragraph_continues_on_the_next_page() -> None:
    assert "<p>The arm moves slowly.</p>" in html(read(prose("The arm moves"), prose("slowly.")))


def test_each_page_with_enough_text_is_cited_by_its_number() -> None:
    pages = prose("Arms", "Reach."), prose(LONG, LONG, LONG), prose("A short end.")
    text = html(read(*pages, outline=(Bookmark(title="Arms", page=1),)))
    assert '<hr id="page=2">' in text
    assert '<hr id="page=3">' not in text  # the end of the section stays with page 2


def test_fixed_width_lines_become_code_with_their_indents() -> None:
    lines = [
        TextLine(text="Run this:", y=700),
        TextLine(text="def grip():", font="code"),
        TextLine(text="return 1 < 2", font="code", x=72 + 4 * 6),
        TextLine(text="grip()", font="code", gap=30),
    ]
    assert "<pre>def grip():\n    return 1 &lt; 2\n\ngrip()</pre>" in html(read(lines))


def test_running_headers_and_page_numbers_are_dropped() -> None:
    def page(number: int) -> list[TextLine]:
        header, footer = TextLine(text=f"Robots Chapter {number}", y=800), TextLine(text=str(number), y=30)
        return [header, *prose(f"Only this page speaks of {PARTS[number]}."), footer]

    text = html(read(*map(page, range(len(PARTS)))))
    assert "Chapter" not in text
    assert text.count("<p>") == len(PARTS)


def test_a_header_of_few_pages_is_dropped_at_the_height_of_the_others() -> None:
    def page(header: str, part: str) -> list[TextLine]:
        return [TextLine(text=header, y=800), *prose(f"Only this page speaks of {part}.")]

    headers = ["Arms"] * (len(PARTS) - 1) + ["Legs"]
    text = html(read(*map(page, headers, PARTS)))
    assert "Arms" not in text
    assert "Legs" not in text


def test_equal_pages_and_titles_of_pages_are_kept() -> None:
    assert html(read(*(prose("The same words.") for _ in range(4)))).count("The same words.") == 4

    def page(number: int) -> list[TextLine]:
        return [TextLine(text=f"Exercise {number}", size=18, y=800), *prose(f"Turn the {PARTS[number]}.")]

    assert [chapter.title for chapter in read(*map(page, range(4))).chapters][1] == "Exercise 1"


def test_a_table_of_contents_is_no_text() -> None:
    contents = prose("Contents", "Arms . . . . . . . . . 2", "Legs ........ 3", *["Eyes and . . . . . 4"] * 3, "Ears")
    book = read(
        contents,
        prose("Arms", "Reach."),
        outline=(Bookmark(title="Contents", page=1), Bookmark(title="Arms", page=2)),
    )
    assert html(book) == '<main>\n<h1 id="page=2">Arms</h1>\n<p>Reach.</p>\n</main>\n'


def test_names_of_equal_titles_differ() -> None:
    outline = (Bookmark(title="Summary", page=1), Bookmark(title="Summary", page=2))
    book = read(prose("Summary", "One."), prose("Summary", "Two."), outline=outline)
    assert [chapter.name for chapter in book.chapters] == ["summary", "summary-2"]


def test_scanned_pages_are_reported() -> None:
    with pytest.raises(BadLesson, match="ocrmypdf") as caught:
        read([], [])
    assert caught.value.reason == "no-text"
    [warning] = read(prose("Text."), []).warnings
    assert warning.startswith("These pages contain images but no text: 2.")


def test_an_encrypted_file_is_reported() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_file([prose("Secret.")]))))
    writer.encrypt("secret", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    with pytest.raises(BadLesson, match="Save a copy without a password") as caught:
        read_pdf(buffer.getvalue())
    assert caught.value.reason == "encrypted"


@pytest.mark.parametrize("raw", [b"", b"no PDF", b"%PDF-1.4\n", pdf_file([prose("Text.")])[:200]])
def test_a_damaged_file_is_reported(raw: bytes) -> None:
    with pytest.raises(BadLesson) as caught:
        read_pdf(raw)
    assert caught.value.reason == "damaged"


def test_a_damaged_page_costs_no_other_page() -> None:
    raw = pdf_file([prose("Arms reach."), prose("Legs walk.")])
    position = raw.index(b"(Legs")
    broken = raw[:position] + b"(Legs walk.\\" + raw[position + 12 :]
    assert "Arms reach." in html(read_pdf(broken))


def test_a_damaged_outline_counts_as_none() -> None:
    raw = pdf_file([prose("Arms reach.")], (Bookmark(title="Arms", page=1),))
    assert "Arms reach." in html(read_pdf(raw.replace(b"/First", b"/Fxrst")))
