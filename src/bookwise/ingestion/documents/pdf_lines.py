"""Pieces of text on PDF pages → lines, without running headers, footers and page numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

RUNNING_MIN = 3  #: a line on at least this many pages at the same height is a running header or footer
EDGE_LINES = 2  #: lines at the top and at the bottom of a page that can be running lines
BULLET_OFFSET = 0.3  #: of the font size: how much higher or lower than its line a bullet can be
HEADING_RATIO = 1.15  #: a heading is at least this much larger than the text
CONTENTS_MIN = 5  #: entries on a page that make it a table of contents
LEVEL_POINTS = 4  #: lines whose heights differ by less count as equally high

# A visible soft hyphen is a hyphen: some programs use one code for both.
_REPLACED = str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\u00a0": " ",
        "\u00ad": "-",
        "\0": "",
    }
)
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_BULLET = re.compile(r"\s*[•‣◦▪●○∙]\s*")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*(?:\d+|[ivxlc]+)?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfLine:
    """A line of a page. `y` grows upwards; all lengths are in points."""

    page: int
    text: str  #: of prose, with backticks around words in a fixed-width font
    x: float
    y: float
    size: float
    is_code: bool = False

    @property
    def plain(self) -> str:
        return self.text if self.is_code else self.text.replace("`", "")


@dataclass(slots=True)
class _Run:
    """Neighbouring pieces of text in one font."""

    text: str
    is_code: bool


@dataclass(slots=True, kw_only=True)
class LineBuilder:
    """Joins the pieces of one page, in the order of the file, to lines."""

    page: int
    lines: list[PdfLine] = field(default_factory=list)
    _runs: list[_Run] = field(default_factory=list)
    _x: float = 0.0
    _y: float = 0.0
    _sizes: Counter[float] = field(default_factory=Counter)
    _bullets: list[float] = field(default_factory=list)  #: heights; some programs draw all bullets of a page last

    def add(self, text: str, x: float, y: float, size: float, *, is_code: bool) -> None:
        """Adds a piece that contains no line break."""
        if _BULLET.fullmatch(text):
            self._bullets.append(y)
            return
        if not text:
            return
        if not self._runs:
            self._x, self._y = x, y
        self._sizes[round(size, 1)] += len(text.strip())
        if self._runs and (self._runs[-1].is_code == is_code or not text.strip()):
            self._runs[-1].text += text
        else:
            self._runs.append(_Run(text, is_code))

    def end_line(self) -> None:
        text = "".join(run.text for run in self._runs).translate(_REPLACED)
        if text.strip():
            is_code = all(run.is_code for run in self._runs if run.text.strip())
            self.lines.append(
                PdfLine(
                    page=self.page,
                    text=text.rstrip() if is_code else _prose(self._runs),
                    x=self._x,
                    y=self._y,
                    size=self._sizes.most_common(1)[0][0],
                    is_code=is_code,
                )
            )
        self._runs, self._sizes = [], Counter()

    def finish(self) -> list[PdfLine]:
        """The lines of the page; those next to a bullet start with it."""
        self.end_line()
        return [replace(line, text=f"• {line.text}") if self._has_bullet(line) else line for line in self.lines]

    def _has_bullet(self, line: PdfLine) -> bool:
        return not line.is_code and any(abs(line.y - y) < BULLET_OFFSET * line.size for y in self._bullets)


def _prose(runs: Iterable[_Run]) -> str:
    """One line of text; words in a fixed-width font become code."""
    texts = []
    for run in runs:
        text = run.text.translate(_REPLACED)
        core = text.strip()
        is_word = run.is_code and core and "`" not in core
        texts.append(text.replace(core, f"`{core}`", 1) if is_word else text)
    return " ".join("".join(texts).split())


def without_contents(page: Sequence[PdfLine]) -> list[PdfLine]:
    """The page without entries of a table of contents (`Kinematics . . . . . 88`); empty if it is full of them."""
    rest = [line for line in page if not _LEADER.search(line.text)]
    return [] if len(page) - len(rest) >= CONTENTS_MIN else rest


def without_running_lines(pages: Sequence[list[PdfLine]]) -> list[list[PdfLine]]:
    """The pages without lines that repeat at the top or bottom, such as a chapter's title and the page number.

    A page that has no other lines keeps them.
    """
    usual_size = median([line.size for page in pages for line in page] or [0])
    edges = [_edge_lines(page, HEADING_RATIO * usual_size) for page in pages]
    repeats = Counter(_running_key(line) for lines in edges for line in lines)
    levels = Counter(_level(line) for lines in edges for line in lines)
    running = Counter(_level(line) for lines in edges for line in lines if _repeats(line, repeats))
    # At a height where most lines repeat, the others are headers too: the title of a short chapter.
    running_levels = {level for level, count in running.items() if 2 * count > levels[level]}

    def is_running(line: PdfLine) -> bool:
        return _repeats(line, repeats) or _level(line) in running_levels

    result = []
    for page, lines in zip(pages, edges, strict=True):
        rest = [line for line in page if not (line in lines and is_running(line))]
        result.append(rest or page)
    return result


def _edge_lines(page: Sequence[PdfLine], size_max: float) -> list[PdfLine]:
    """The first and the last lines, without headings."""
    by_height = sorted(page, key=lambda line: line.y)
    edges = by_height if len(page) <= 2 * EDGE_LINES else [*by_height[:EDGE_LINES], *by_height[-EDGE_LINES:]]
    return [line for line in edges if line.size < size_max]


def _level(line: PdfLine) -> int:
    return round(line.y / LEVEL_POINTS)


def _running_key(line: PdfLine) -> tuple[str, int]:
    return _NUMBER.sub("#", line.plain.strip().casefold()), _level(line)


def _repeats(line: PdfLine, repeats: Counter[tuple[str, int]]) -> bool:
    key = _running_key(line)
    return repeats[key] >= RUNNING_MIN and any(c.isalnum() or c == "#" for c in key[0])
