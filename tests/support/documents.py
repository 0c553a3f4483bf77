"""Small PDF and EPUB files, written by the tests themselves."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A line of a page. Without `y` it is one line below the one before it."""

    text: str
    font: str = "body"  #: body or code
    size: float = 10
    x: float = 72
    y: float | None = None
    gap: float = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """An entry of the outline; `page` counts from 1."""

    title: str
    page: int
    children: tuple["Bookmark", ...] = ()


class _PdfWriter:
    """Numbered objects, and at the end the table of their positions."""

    def __init__(self) -> None:
        self.objects: list[bytes] = []

    def reserve(self) -> int:
        self.objects.append(b"")
        return len(self.objects)

    def put(self, number: int, body: str | bytes) -> int:
        self.objects[number - 1] = body.encode("latin-1") if isinstance(body, str) else body
        return number

    def add(self, body: str | bytes) -> int:
        return self.put(self.reserve(), body)

    def finish(self, root: int, info: int) -> bytes:
        out = bytearray(b"%PDF-1.4\n")
        positions = []
        for number, body in enumerate(self.objects, 1):
            positions.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(positions) + 1)
        out += b"".join(b"%010d 00000 n \n" % position for position in positions)
        out += b"trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\n" % (len(positions) + 1, root, info)
        return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def prose(*texts: str, top: float = 700) -> list[TextLine]:
    """The lines of a page from top to bottom."""
    return [TextLine(text=text, y=top if i == 0 else None) for i, text in enumerate(texts)]


def pdf_file(pages: Sequence[Sequence[TextLine]], outline: Sequence[Bookmark] = (), *, title: str = "") -> bytes:
    """A PDF with these pages. A page without lines shows an image, as a scan does."""
    pdf = _PdfWriter()
    root, tree = pdf.reserve(), pdf.reserve()
    body = pdf.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    code = pdf.add("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>")
    image = pdf.add(
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
        "\nstream\n0\nendstream"
    )
    kids = []
    for lines in pages:
        content = _content(lines).encode("latin-1")
        stream = pdf.add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        images = "" if lines else f"/XObject << /I {image} 0 R >>"
        resources = f"<< /Font << /body {body} 0 R /code {code} 0 R >> {images} >>"
        page = f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 595 842] /Contents {stream} 0 R"
        kids.append(pdf.add(f"{page} /Resources {resources} >>"))
    pdf.put(tree, f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>")
    outlines = f"/Outlines {_add_outline(pdf, outline, kids)} 0 R" if outline else ""
    pdf.put(root, f"<< /Type /Catalog /Pages {tree} 0 R {outlines} >>")
    return pdf.finish(root, pdf.add(f"<< /Title ({title}) >>" if title else "<< >>"))


def _content(lines: Sequence[TextLine]) -> str:
    y = 700.0
    parts = []
    for line in lines:
        y = y - line.gap if line.y is None else line.y
        text = line.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        parts.append(f"BT /{line.font} {line.size} Tf 1 0 0 1 {line.x} {y} Tm ({text}) Tj ET")
    return "\n".join(parts)


def _add_outline(pdf: _PdfWriter, entries: Sequence[Bookmark], pages: Sequence[int]) -> int:
    top = pdf.reserve()
    first, last = _add_entries(pdf, entries, pages, top)
    return pdf.put(top, f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(entries)} >>")


def _add_entries(pdf: _PdfWriter, entries: Sequence[Bookmark], pages: Sequence[int], parent: int) -> tuple[int, int]:
    numbers = [pdf.reserve() for _ in entries]
    for i, (number, entry) in enumerate(zip(numbers, entries, strict=True)):
        links = f"/Next {numbers[i + 1]} 0 R" if i + 1 < len(numbers) else ""
        links += f" /Prev {numbers[i - 1]} 0 R" if i else ""
        if entry.children:
            first, last = _add_entries(pdf, entry.children, pages, number)
            links += f" /First {first} 0 R /Last {last} 0 R /Count {len(entry.children)}"
        destination = f"/Dest [{pages[entry.page - 1]} 0 R /XYZ null null null]"
        pdf.put(number, f"<< /Title ({entry.title}) /Parent {parent} 0 R {destination} {links} >>")
    return numbers[0], numbers[-1]


def epub_file(
    pages: Mapping[str, str], toc: str = "", *, title: str = "A Book", extra: Mapping[str, str | bytes] | None = None
) -> bytes:
    """An EPUB 3 with these pages (file name → body) in this order. `toc` is the `ol` of the table of contents."""
    items = "".join(f'<item id="i{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in pages)
    spine = "".join(f'<itemref idref="i{name}"/>' for name in pages)
    nav = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if toc else ""
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title></metadata>"
        f"<manifest>{nav}{items}</manifest><spine>{spine}</spine></package>"
    )
    members: dict[str, str | bytes] = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package}
    members |= {f"OEBPS/{name}": xhtml(body) for name, body in pages.items()}
    if toc:
        members["OEBPS/nav.xhtml"] = xhtml(f'<nav epub:type="toc">{toc}</nav>')
    return zip_file(members | dict(extra or {}))


def xhtml(body: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?>\n<html><head><title/></head><body>{body}</body></html>'


def zip_file(members: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
