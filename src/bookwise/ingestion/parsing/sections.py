"""Headings and blocks in reading order → the sections of a lesson."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bookwise.domain.books import Block, BlockKind, Section, SiteKind
from bookwise.ingestion.parsing.anchors import Slugger


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading as plain text."""

    level: int
    title: str
    anchor: str | None = None  #: explicit id; empty: no id; None: derived from the title
    quoted: bool = False  #: in a block quote: uses up a fragment, but starts no section

    @property
    def block(self) -> Block:
        kind: BlockKind = "text" if self.quoted else "heading"
        return Block(kind=kind, text=f"{'#' * self.level} {self.title}")


@dataclass(frozen=True, slots=True)
class PageStart:
    """The start of a printed page: the next blocks are a section with the same headings and another anchor."""

    anchor: str


LessonPart: TypeAlias = Heading | Block | PageStart

TITLE_LENGTH = 300  #: characters of a heading in titles and paths; its block has the full text


def blocks_of(parts: Iterable[LessonPart]) -> Iterator[Block]:
    """The parts as blocks, where headings start no sections: in a list, a table or a note."""
    for part in parts:
        if not isinstance(part, PageStart):
            yield part.block if isinstance(part, Heading) else part


def first_title(parts: Iterable[LessonPart]) -> str:
    """The title of the first level-1 heading; empty when there is none."""
    tops = (p.title for p in parts if isinstance(p, Heading) and p.level == 1 and not p.quoted)
    return next(tops, "")[:TITLE_LENGTH]


def outline(parts: Sequence[LessonPart], *, title: str, site: SiteKind) -> tuple[Section, ...]:
    """The sections with their heading paths and fragments. The title of the lesson is not part of the paths."""
    explicit_ids = (p.anchor for p in parts if isinstance(p, Heading) and p.anchor)
    builder = _Outline(Slugger(site, taken=explicit_ids), site, _title_heading(parts, title))
    for part in parts:
        builder.add(part)
    return builder.sections()


def _title_heading(parts: Iterable[LessonPart], title: str) -> Heading | None:
    """The first H1, unless the lesson has another title and several H1 headings."""
    tops = [p for p in parts if isinstance(p, Heading) and p.level == 1 and not p.quoted]
    if tops and (len(tops) == 1 or _same(tops[0].title[:TITLE_LENGTH], title)):
        return tops[0]
    return None


def _same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()


class _Outline:
    """Builds the sections: those completed so far, and the headings above the next block."""

    def __init__(self, slugger: Slugger, site: SiteKind, title: Heading | None) -> None:
        self._slugger = slugger
        self._site = site
        self._title = title
        self._open: list[Heading] = []
        self._anchor = ""
        self._blocks: list[Block] = []
        self._sections: list[Section] = []

    def add(self, part: LessonPart) -> None:
        if isinstance(part, Block):
            self._blocks.append(part)
            return
        if isinstance(part, PageStart):
            self._finish()
            self._anchor = part.anchor
            return
        anchor = self._slugger.slug(part.title, part.anchor)
        if not part.quoted:
            self._finish()
            self._begin(part, anchor)
        self._blocks.append(part.block)

    def sections(self) -> tuple[Section, ...]:
        self._finish()
        return tuple(self._sections)

    def _begin(self, heading: Heading, anchor: str) -> None:
        while self._open and self._open[-1].level >= heading.level:
            self._open.pop()
        if heading is not self._title:
            self._open.append(heading)
        # Docusaurus renders every H1 without an id.
        self._anchor = "" if self._site == "docusaurus" and heading.level == 1 else anchor

    def _finish(self) -> None:
        if not self._blocks:
            return
        path = tuple(heading.title[:TITLE_LENGTH] for heading in self._open)
        self._sections.append(Section(heading_path=path, anchor=self._anchor, blocks=tuple(self._blocks)))
        self._blocks = []
