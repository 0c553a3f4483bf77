"""Lines and headings of a PDF chapter → HTML with paragraphs, lists, code and page marks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from statistics import median
from typing import Literal, TypeAlias

from bookwise.ingestion.documents.pdf_lines import PdfLine

PARAGRAPH_GAP = 1.3  #: a gap this much larger than between lines starts a paragraph
BLANK_LINE_GAP = 1.7  #: the same for a blank line in code
INDENT = 0.8  #: of the font size: a first line moved right by more starts a paragraph
CODE_WIDTH = 0.6  #: of the font size: the width of a character in fixed-width fonts
TAIL_MIN = 200  #: a shorter end of a section on the next page is cited with the page before
LEVELS_MAX = 6

_BULLET = re.compile(r"[•‣◦▪●○∙·–*-]\s+(?=\S)")
_NUMBERED = re.compile(r"\(?\d{1,2}[.)]\s+\S")
_SENTENCE_END = re.compile(r"[.!?:;]['\"”’)\]`]*$")
_HYPHENATED = re.compile(r"(\w+)\s?([-‐])$")
_WORD = re.compile(r"\w+(?:-\w+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfHeading:
    """A heading between the lines of a PDF."""

    title: str
    level: int
    page: int


PdfItem: TypeAlias = PdfLine | PdfHeading
_BlockKind: TypeAlias = Literal["heading", "text", "item", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFlow:
    """What the lines of a document have in common."""

    gap: float  #: the usual distance of two lines, as a multiple of the font size
    words: frozenset[str]  #: to decide whether a hyphen at the end of a line belongs to the word


@dataclass(slots=True, kw_only=True)
class _PdfBlock:
    kind: _BlockKind
    page: int
    lines: list[PdfLine] = field(default_factory=list)
    title: str = ""
    level: int = 0


def text_flow(lines: Iterable[PdfLine]) -> TextFlow:
    """Measures the distance of lines and collects the words of a document."""
    gaps: list[float] = []
    words: Counter[str] = Counter()
    previous: PdfLine | None = None
    for line in lines:
        words.update(word.casefold() for word in _WORD.findall(line.text))
        if previous and previous.page == line.page and not (line.is_code or previous.is_code):
            gap = _gap(previous, line)
            if 0.5 < gap < 3:
                gaps.append(gap)
        previous = line
    return TextFlow(gap=median(gaps) if gaps else 1.2, words=frozenset(words))


def chapter_html(items: Sequence[PdfItem], flow: TextFlow) -> str:
    """The chapter as HTML. `<hr id="page=88">` marks where the text of a page starts."""
    html = [line for section in _sections(_blocks(items, flow)) for line in _section_html(section, flow)]
    text = "\n".join(html).replace("</li></ul>\n<ul><li>", "</li>\n<li>")  # items of one list
    return f"<main>\n{text}\n</main>\n"


def _section_html(section: Sequence[_PdfBlock], flow: TextFlow) -> Iterator[str]:
    """A heading is cited with its page; so is each page that follows, unless only a few lines are on it."""
    lengths: Counter[int] = Counter()
    for block in section:
        lengths[block.page] += sum(len(line.text) for line in block.lines)
    page = section[0].page if section[0].kind == "heading" else 0
    for block in section:
        if block.page != page and (not page or lengths[block.page] >= TAIL_MIN):
            page = block.page
            yield f'<hr id="page={page}">'
        yield _block_html(block, flow)


def _sections(blocks: Iterable[_PdfBlock]) -> Iterator[list[_PdfBlock]]:
    """The blocks from one heading to the next."""
    run: list[_PdfBlock] = []
    for block in blocks:
        if block.kind == "heading" and run:
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _blocks(items: Sequence[PdfItem], flow: TextFlow) -> Iterator[_PdfBlock]:
    current: _PdfBlock | None = None
    for item in items:
        if isinstance(item, PdfHeading):
            if current:
                yield current
            yield _PdfBlock(kind="heading", page=item.page, title=item.title, level=item.level)
            current = None
        elif current and _continues(current, item, flow):
            current.lines.append(item)
        else:
            if current:
                yield current
            current = _PdfBlock(kind=_kind(item), page=item.page, lines=[item])
    if current:
        yield current


def _kind(line: PdfLine) -> _BlockKind:
    if line.is_code:
        return "code"
    return "item" if _BULLET.match(line.text) else "text"


def _continues(block: _PdfBlock, line: PdfLine, flow: TextFlow) -> bool:
    """Whether a line belongs to the block before it."""
    last = block.lines[-1]
    if line.is_code or block.kind == "code":
        return line.is_code and block.kind == "code"
    if _BULLET.match(line.text) or _NUMBERED.match(line.text):
        return False
    gap = _gap(last, line)
    if last.page != line.page or gap < -1:  # the next page or column
        return not _SENTENCE_END.search(last.text)
    if gap > flow.gap * PARAGRAPH_GAP or abs(line.size - last.size) > 0.2 * last.size:
        return False
    return not _is_indented(block, line)


def _is_indented(block: _PdfBlock, line: PdfLine) -> bool:
    """Whether the line starts a paragraph that is shown by an indent. The rest of a list item is always indented."""
    last = block.lines[-1]
    return block.kind == "text" and len(block.lines) > 1 and line.x - last.x > INDENT * line.size


def _gap(above: PdfLine, below: PdfLine) -> float:
    return (above.y - below.y) / (max(above.size, below.size) or 1)


def _block_html(block: _PdfBlock, flow: TextFlow) -> str:
    match block.kind:
        case "heading":
            level = min(block.level, LEVELS_MAX)
            return f'<h{level} id="page={block.page}">{escape(block.title)}</h{level}>'
        case "code":
            return f"<pre>{escape(_code(block.lines))}</pre>"
        case "item":
            return f"<ul><li>{escape(_BULLET.sub('', _paragraph(block.lines, flow), count=1))}</li></ul>"
        case _:
            return f"<p>{escape(_paragraph(block.lines, flow))}</p>"


def _code(lines: Sequence[PdfLine]) -> str:
    """Code with its indents, which many files show by the position of a line and not by spaces."""
    left = min(line.x for line in lines)
    blank_line = BLANK_LINE_GAP * _line_distance(lines)
    rows = [_indented(lines[0], left)]
    for above, line in pairwise(lines):
        if above.page == line.page and _gap(above, line) > blank_line:
            rows.append("")
        rows.append(_indented(line, left))
    return "\n".join(rows)


def _indented(line: PdfLine, left: float) -> str:
    return " " * min(80, round((line.x - left) / (CODE_WIDTH * line.size or 1))) + line.text


def _line_distance(lines: Sequence[PdfLine]) -> float:
    gaps = [_gap(above, line) for above, line in pairwise(lines) if above.page == line.page]
    return max(min(gaps, default=1.2), 1.0)


def _paragraph(lines: Sequence[PdfLine], flow: TextFlow) -> str:
    text = lines[0].text
    for line in lines[1:]:
        text = _joined(text, line.text, flow)
    return text


def _joined(text: str, following: str, flow: TextFlow) -> str:
    """Two lines as one, without the hyphen of a word that was divided."""
    if text.endswith("`") and following.startswith("`"):  # code that continues on the next line
        text, following = text[:-1], following[1:]
    match = _HYPHENATED.search(text)
    rest = _WORD.match(following)
    if not match or not rest:
        return f"{text} {following}"
    whole = f"{match[1]}{rest[0]}".casefold()
    is_dash = match.end(1) < match.start(2)
    if whole not in flow.words and is_dash:
        return f"{text} {following}"
    is_compound = f"{match[1]}-{rest[0]}".casefold() in flow.words or not rest[0][0].islower()
    if whole not in flow.words and is_compound and match[2] == "-":
        return text + following
    return text[: match.end(1)] + following
