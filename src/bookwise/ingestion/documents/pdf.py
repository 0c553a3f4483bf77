"""PDF → its chapters: from the outline, else from large headings, else groups of pages."""

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
from pypdf.generic import Destination

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import one_line
from bookwise.ingestion.documents.document import MAX_TEXT, Document, build_document
from bookwise.ingestion.documents.pdf_chapters import OutlineEntry, PdfContent, chapters_of
from bookwise.ingestion.documents.pdf_lines import LineBuilder, PdfLine, without_running_lines

MAX_PAGES = 10_000
MAX_ENTRIES = 20_000
MAX_DEPTH = 20
PAGES_SHOWN = 10

# The library writes a line for each small defect of a file; defects that matter become warnings of the document.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)

#: What the library raises for damaged files, besides its own errors.
_DEFECTS = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
_FIXED_WIDTH_FONT = re.compile(
    r"mono|courier|consol|menlo|typewriter|teletype|inconsolata|fixed|sourcecode|firacode|cmtt|lmtt|txtt|sftt|ectt",
    re.IGNORECASE,
)
_FIXED_WIDTH_FLAG = 1
#: Titles that programs write: names of files, and placeholders.
_NO_TITLE = re.compile(
    r"\.\w{2,5}$|^(?:microsoft|untitled|about:)|^\W*(?:document|presentation|title|no title|unknown|unspecified|"
    r"anonymous|powerpoint presentation)\W*\d*\W*$",
    re.IGNORECASE,
)


def read_pdf(raw: bytes) -> Document:
    """The chapters of a PDF. Raises `BadLesson` when it is damaged, encrypted or without text."""
    reader = _open(raw)
    text = _read_pages(reader)
    if not any(text.pages):
        raise _no_text(len(text.pages))
    content = PdfContent(pages=without_running_lines(text.pages), outline=_outline(reader))
    title = _title(reader) or _outline_title(content.outline)
    return build_document(title, chapters_of(content), text.warnings())


def _open(raw: bytes) -> PdfReader:
    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _encrypted()
        count = len(reader.pages)
    except (FileNotDecryptedError, DependencyError) as error:
        raise _encrypted() from error
    except _DEFECTS as error:
        raise BadLesson(
            "damaged", "The file is damaged or not a PDF. Open it in a viewer, print it to a new PDF and ingest that."
        ) from error
    if not 0 < count <= MAX_PAGES:
        raise BadLesson("pages", f"The PDF has {count:,} pages; a document has 1 to {MAX_PAGES:,}.")
    return reader


def _encrypted() -> BadLesson:
    return BadLesson(
        "encrypted", "The PDF is encrypted. Save a copy without a password, for example with `qpdf --decrypt`."
    )


def _no_text(count: int) -> BadLesson:
    return BadLesson(
        "no-text",
        f"None of the {count} pages contains text. If they are scans, recognize the text first, for example with "
        "`ocrmypdf in.pdf out.pdf`, and ingest the result.",
    )


@dataclass(slots=True)
class _PageTexts:
    """The lines of every page, and the pages without any."""

    pages: list[list[PdfLine]] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)

    def warnings(self) -> Iterator[str]:
        if self.damaged:
            yield f"These pages cannot be read and were left out: {_page_list(self.damaged)}."
        if self.blank:
            yield (
                f"These pages contain images but no text: {_page_list(self.blank)}. If they are scans, recognize the "
                "text first, for example with `ocrmypdf`."
            )


def _page_list(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:PAGES_SHOWN]))
    more = len(numbers) - PAGES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _read_pages(reader: PdfReader) -> _PageTexts:
    result = _PageTexts()
    size = 0
    for number in range(1, len(reader.pages) + 1):
        lines: list[PdfLine] = []
        try:
            page = reader.pages[number - 1]
            lines = _lines(page, number)
            if not lines and _has_images(page):
                result.blank.append(number)
        except _DEFECTS:
            result.damaged.append(number)
        result.pages.append(lines)
        size += sum(len(line.text) for line in lines)
        if size > MAX_TEXT:
            raise BadLesson("too-large", f"The PDF has more than {MAX_TEXT:,} characters. Split it into several files.")
    return result


def _lines(page: PageObject, number: int) -> list[PdfLine]:
    builder = LineBuilder(page=number)
    fonts: dict[str, bool] = {}

    def visit(text: str, page_matrix: list[float], matrix: list[float], font: Any, size: float) -> None:
        if abs(matrix[1]) > abs(matrix[0]):  # rotated text, such as a stamp at the edge
            return
        name = str(font.get("/BaseFont", "")) if font else ""
        if name not in fonts:
            fonts[name] = _is_fixed_width(name, font)
        x = matrix[4] * page_matrix[0] + matrix[5] * page_matrix[2] + page_matrix[4]
        y = matrix[4] * page_matrix[1] + matrix[5] * page_matrix[3] + page_matrix[5]
        height = abs(size * matrix[3] * page_matrix[3])
        first, *others = text.split("\n")
        builder.add(first, x, y, height, is_code=fonts[name])
        for piece in others:
            builder.end_line()
            builder.add(piece, x, y, height, is_code=fonts[name])

    page.extract_text(visitor_text=visit)
    return builder.finish()


def _is_fixed_width(name: str, font: Any) -> bool:
    if not font or _FIXED_WIDTH_FONT.search(name):
        return bool(font)
    inner = font.get("/DescendantFonts")
    holder = inner[0].get_object() if inner else font
    descriptor = holder.get("/FontDescriptor")
    flags = descriptor.get_object().get("/Flags", 0) if descriptor else 0
    return isinstance(flags, int) and bool(flags & _FIXED_WIDTH_FLAG)


def _has_images(page: PageObject) -> bool:
    resources = page.get("/Resources")
    return bool(resources and resources.get_object().get("/XObject"))


def _title(reader: PdfReader) -> str:
    """The title from the metadata; empty when it is the name of a file or a placeholder, as programs write them."""
    try:
        title = one_line(reader.metadata.title if reader.metadata else "")
    except _DEFECTS:
        return ""
    return "" if _NO_TITLE.search(title) else title


def _outline_title(outline: list[OutlineEntry]) -> str:
    """The title of the only entry at the top, above all chapters, on the first page; else empty."""
    top = [entry for entry in outline if entry.level == 1]
    is_title = len(top) == 1 < len(outline) and top[0].page == 1
    return top[0].title if is_title and not _NO_TITLE.search(top[0].title) else ""


def _outline(reader: PdfReader) -> list[OutlineEntry]:
    """The entries of the outline in the order of their pages; empty when there is none or it is damaged."""
    try:
        entries = list(_entries(reader, reader.outline, 1))
    except _DEFECTS:
        return []
    return sorted(entries[:MAX_ENTRIES], key=lambda entry: entry.page)


def _entries(reader: PdfReader, outline: Any, level: int) -> Iterator[OutlineEntry]:
    for item in outline:
        if isinstance(item, list):
            if level < MAX_DEPTH:
                yield from _entries(reader, item, level + 1)
        elif isinstance(item, Destination):
            page = reader.get_destination_page_number(item)
            title = one_line(str(item.title or ""))
            if page is not None and page >= 0 and title:
                top = item.top
                yield OutlineEntry(
                    title=title, level=level, page=page + 1, top=float(top) if isinstance(top, int | float) else None
                )
