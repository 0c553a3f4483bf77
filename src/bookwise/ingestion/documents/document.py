"""Documents: PDF and EPUB files that contain many lessons, each as a page of HTML."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import one_line, slug

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
MAX_TEXT = 64 * 1024 * 1024  #: characters of all chapters of one document

_DOCUMENT = re.compile(r"\.(pdf|epub)", re.IGNORECASE)
_DOCUMENT_PART = re.compile(r"(.*?\.(?:pdf|epub))/.+", re.IGNORECASE | re.DOTALL)
_CHAPTER_NUMBER = re.compile(r"(?:chapter\s+)?(\d{1,3})(?=[\s.:–—-]|$)(?!\.\d)", re.IGNORECASE)
#: Lists of pages, which would match every question about the words in them.
_LISTINGS = frozenset({"contents", "table of contents", "index", "list of figures", "list of tables"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftChapter:
    """A chapter as it was found, before it has a unique name."""

    title: str
    html: str = ""
    parents: tuple[str, ...] = ()  #: titles of the entries above it in the table of contents
    error: BadLesson | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChapter:
    """A chapter of a document. `content` is a page of HTML in UTF-8, empty when there is an `error`."""

    name: str  #: unique in the document
    title: str
    content: bytes
    parents: tuple[str, ...] = ()
    number: int | None = None  #: stated in the title
    error: BadLesson | None = None
    is_listing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document in reading order."""

    title: str
    chapters: tuple[DocumentChapter, ...]
    warnings: tuple[str, ...] = ()


def is_document(name: str) -> bool:
    """Whether the file extension is that of a PDF or EPUB file."""
    return _DOCUMENT.fullmatch(name[name.rfind(".") :]) is not None if "." in name else False


def document_of(source_file: str) -> str | None:
    """`guide/book.pdf/kinematics` → `guide/book.pdf`; None for a lesson that is a file."""
    match = _DOCUMENT_PART.fullmatch(source_file)
    return match[1] if match else None


def chapter_number(title: str) -> int | None:
    """`Chapter 3: Kinematics`, `3 Kinematics` and `3. Kinematics` → 3."""
    match = _CHAPTER_NUMBER.match(title)
    return int(match[1]) if match else None


def build_document(title: str, drafts: Iterable[DraftChapter], warnings: Iterable[str] = ()) -> Document:
    """The document with a unique name for every chapter. Raises `BadLesson` for too much text."""
    chapters: list[DocumentChapter] = []
    names: set[str] = set()
    size = 0
    for draft in drafts:
        size += len(draft.html)
        if size > MAX_TEXT:
            raise BadLesson("too-large", f"The document has more than {MAX_TEXT:,} characters. Split it into files.")
        name = next(name for name in _names(draft.title) if name not in names)
        names.add(name)
        chapters.append(_chapter(draft, name))
    return Document(title=one_line(title), chapters=tuple(chapters), warnings=tuple(warnings))


def _names(title: str) -> Iterator[str]:
    """The name from the title, then the same with a number."""
    base = slug(title)
    yield base
    count = 2
    while True:
        yield f"{base}-{count}"
        count += 1


def _chapter(draft: DraftChapter, name: str) -> DocumentChapter:
    return DocumentChapter(
        name=name,
        title=one_line(draft.title),
        content=draft.html.encode(),
        parents=tuple(map(one_line, draft.parents)),
        number=chapter_number(draft.title),
        error=draft.error,
        is_listing=draft.title.strip().casefold() in _LISTINGS,
    )
