"""Chunks of a lesson → its sections as HTML, with the quoted sentences marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from bookwise.api.rendering.links import LessonLinks
from bookwise.api.rendering.markdown import render
from bookwise.domain.answers import Highlight
from bookwise.domain.books import Chunk
from bookwise.retrieval.sections import join_chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionHtml:
    """A section of a lesson, ready to be shown."""

    anchor: str
    chunk_ids: tuple[str, ...]
    html: str


def passage_html(text: str, quotes: Sequence[str], links: LessonLinks) -> str:
    """Returns a part of a lesson with its quotes marked."""
    return render(text, quote_ranges(text, quotes), resolve_link=links)


def section_htmls(chunks: Sequence[Chunk], quotes: Sequence[str], links: LessonLinks) -> list[SectionHtml]:
    """Returns the sections in reading order. The title of the lesson is left out: the page shows it."""
    sections = []
    for (_, anchor), group in groupby(chunks, key=lambda chunk: (chunk.locator.heading_path, chunk.locator.anchor)):
        members = list(group)
        text = join_chunks(members).removeprefix(f"# {members[0].locator.page_title}\n")
        html = render(text, quote_ranges(text, quotes), resolve_link=links, top_heading=1)
        sections.append(SectionHtml(anchor=anchor, chunk_ids=tuple(chunk.id for chunk in members), html=html))
    return sections


def quote_ranges(text: str, quotes: Sequence[str]) -> list[Highlight]:
    """Where the quotes are in the text, in order. A quote that is not there is left out. One that is there twice, such
    as the start of two commands, is the one after the quote before it."""
    found, end = set[tuple[int, int]](), 0
    for quote in filter(str.strip, quotes):
        start = text.find(quote, end)
        if start < 0:
            start = text.find(quote)
        if start >= 0:
            end = start + len(quote)
            found.add((start, end))
    return [Highlight(start, end) for start, end in sorted(found)]
