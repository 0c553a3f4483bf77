"""Lines and outline of a PDF → its chapters with headings."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeAlias

from bookwise.ingestion.documents.document import DraftChapter
from bookwise.ingestion.documents.pdf_html import PdfHeading, PdfItem, chapter_html, text_flow
from bookwise.ingestion.documents.pdf_lines import HEADING_RATIO, PdfLine, without_contents

GROUP_PAGES = 10  #: pages of a chapter when the document shows no chapters
HEADING_LENGTH = 120
HEADING_LINES = 4
FRONT_TITLE = "Front matter"
FRONT_TEXT_MIN = 200  #: characters before the first chapter below which there is only a title page

_PART = re.compile(r"part\b", re.IGNORECASE)
_NUMBERING = re.compile(r"(?:chapter|part|section|appendix)?(?:\d*|[ivxlc]*|[a-z]\d*)")
_NON_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineEntry:
    """An entry of the outline. `level` 1 is the top."""

    title: str
    level: int
    page: int
    top: float | None = None  #: height on the page, if the entry states it


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfContent:
    """The text of a PDF, page by page, and its outline."""

    pages: list[list[PdfLine]]
    outline: list[OutlineEntry] = field(default_factory=list)


#: Title and parents of a chapter, and its items.
_ChapterItems: TypeAlias = tuple[str, tuple[str, ...], list[PdfItem]]


def chapters_of(content: PdfContent) -> Iterator[DraftChapter]:
    """The chapters with text, in reading order."""
    pages = list(map(without_contents, content.pages))
    flow = text_flow(line for page in pages for line in page)
    for title, parents, items in _split(pages, content.outline):
        if any(isinstance(item, PdfLine) for item in items):
            yield DraftChapter(title=title, parents=parents, html=chapter_html(items, flow))


def _split(pages: list[list[PdfLine]], outline: list[OutlineEntry]) -> Iterator[_ChapterItems]:
    if len(outline) > 1 or (outline and len(pages) <= GROUP_PAGES):  # one entry of a long book is its cover
        return _by_headings(list(_outlined(pages, outline)))
    items = list(_detected(pages, first_level=1))
    if sum(isinstance(item, PdfHeading) and item.level == 1 for item in items) > 1:
        return _by_headings(items)
    return _by_pages(pages)


def _by_pages(pages: list[list[PdfLine]]) -> Iterator[_ChapterItems]:
    for start in range(0, len(pages), GROUP_PAGES):
        group = pages[start : start + GROUP_PAGES]
        yield f"Pages {start + 1} to {start + len(group)}", (), [line for page in group for line in page]


def _by_headings(items: Sequence[PdfItem]) -> Iterator[_ChapterItems]:
    """Chapters start at headings of level 1; inside a part (`Part II`), at those of level 2."""
    tops = [item.title for item in items if isinstance(item, PdfHeading) and item.level == 1]
    title, part = FRONT_TITLE, ""
    parents: tuple[str, ...] = ()
    current: list[PdfItem] = []
    for item in items:
        if isinstance(item, PdfHeading) and (item.level == 1 or (part and item.level == 2)):
            if title != FRONT_TITLE or _characters(current) >= FRONT_TEXT_MIN:
                yield title, parents, current
            if item.level == 1:
                part = item.title if _PART.match(item.title) or len(tops) == 1 else ""
            title, parents, current = item.title, (part,) if item.level == 2 else (), []
        if isinstance(item, PdfHeading) and parents:
            current.append(replace(item, level=item.level - 1))
        else:
            current.append(item)
    yield title, parents, current


def _characters(items: Iterable[PdfItem]) -> int:
    return sum(len(item.text) for item in items if isinstance(item, PdfLine))


def _outlined(pages: list[list[PdfLine]], outline: Sequence[OutlineEntry]) -> Iterator[PdfItem]:
    """The lines, with a heading for each entry of the outline."""
    by_page = {page: list(entries) for page, entries in groupby(outline, key=lambda entry: entry.page)}
    if max(entry.level for entry in outline) == 1:  # the outline lists chapters only; sections are found by their size
        pages_with_sections: Iterable[Sequence[PdfItem]] = _detected_pages(pages, first_level=2)
    else:
        pages_with_sections = pages
    for number, items in enumerate(pages_with_sections, start=1):
        yield from _page_with_headings(items, by_page.get(number, []))


def _page_with_headings(items: Sequence[PdfItem], entries: Sequence[OutlineEntry]) -> Iterator[PdfItem]:
    position = 0
    for entry in entries:
        start, end = _find_heading(items, position, entry)
        yield from items[position:start]
        yield PdfHeading(title=entry.title, level=entry.level, page=entry.page)
        position = end
    yield from items[position:]


def _find_heading(items: Sequence[PdfItem], start: int, entry: OutlineEntry) -> tuple[int, int]:
    """The lines that show the title of the entry; an empty range at the entry's height when none does."""
    title = _key(entry.title)
    for first in range(start, len(items)):
        joined = ""
        for last in range(first, min(first + HEADING_LINES, len(items))):
            item = items[last]
            joined += _key(item.title if isinstance(item, PdfHeading) else item.plain)
            if _same_heading(joined, title):
                return first, last + 1
    top = entry.top
    for index in range(start, len(items)):
        item = items[index]
        if top is None or (isinstance(item, PdfLine) and item.y <= top):
            return index, index
    return start, start


def _key(text: str) -> str:
    return _NON_WORD.sub("", text).casefold()


def _same_heading(shown: str, title: str) -> bool:
    """Whether both are equal, apart from a number before one of them."""
    longer, shorter = (shown, title) if len(shown) >= len(title) else (title, shown)
    if not shorter or not longer.endswith(shorter):
        return False
    return longer == shorter or _NUMBERING.fullmatch(longer.removesuffix(shorter)) is not None


def _detected(pages: list[list[PdfLine]], *, first_level: int) -> Iterator[PdfItem]:
    for page in _detected_pages(pages, first_level=first_level):
        yield from page


def _detected_pages(pages: list[list[PdfLine]], *, first_level: int) -> list[list[PdfItem]]:
    """The pages with a heading instead of each line that is clearly larger than the text."""
    body = _body_size(line for page in pages for line in page)
    marked = [_joined_headings(page, body * HEADING_RATIO) for page in pages]
    counts = Counter(item.size for page in marked for item in page if isinstance(item, _LargeText))
    # What occurs only once is the title of the book, or decoration.
    sizes = sorted((size for size, count in counts.items() if count > 1), reverse=True)
    return [[_as_heading(item, sizes, first_level) for item in page] for page in marked]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LargeText:
    title: str
    size: float
    line: PdfLine


def _joined_headings(page: Sequence[PdfLine], size_min: float) -> list[PdfLine | _LargeText]:
    """Large lines as headings; neighbouring lines of the same size are one heading."""
    result: list[PdfLine | _LargeText] = []
    for line in page:
        size = round(line.size * 2) / 2
        is_large = size >= size_min and not line.is_code and any(map(str.isalpha, line.text))
        last = result[-1] if result else None
        if not is_large or len(line.text) > HEADING_LENGTH:
            result.append(line)
        elif isinstance(last, _LargeText) and last.size == size and 0 < last.line.y - line.y < 2 * size:
            result[-1] = _LargeText(title=f"{last.title} {line.plain}", size=size, line=line)
        else:
            result.append(_LargeText(title=line.plain, size=size, line=line))
    return result


def _as_heading(item: PdfLine | _LargeText, sizes: Sequence[float], first_level: int) -> PdfItem:
    if isinstance(item, PdfLine):
        return item
    level = first_level + sum(size > item.size for size in sizes)
    return PdfHeading(title=item.title, level=level, page=item.line.page)


def _body_size(lines: Iterable[PdfLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        if not line.is_code:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0
