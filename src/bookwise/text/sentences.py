"""Markdown → units: headings, sentences, list items, code blocks and tables. The only sentence splitter.

`blocks` keeps larger parts together: whole paragraphs, and whole lists with all that is inside their items.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from bookwise.text.block_lines import LineKind, block_end, line_kind

UnitKind: TypeAlias = Literal["heading", "sentence", "item", "code", "table"]

_KINDS: Mapping[LineKind, UnitKind] = {
    "code": "code",
    "heading": "heading",
    "table": "table",
    "item": "item",
    "prose": "sentence",
}
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[*_]*(?:[^\W_a-z]|`))")
_ABBREVIATION_MAX = 16  #: characters; longer than each of the abbreviations below with what precedes it
_BLANK_LINE = re.compile(r"\n(?=[^\S\n]*\n)")
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Eq|Sec|Ch|Vol|pp|ca|Inc|Ltd|Jr|Sr|al|[A-Z])\.)$"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of text, unchanged from its source."""

    kind: UnitKind
    text: str
    start: int  #: position in the source


def units(markdown: str) -> list[Unit]:
    """Returns all units in reading order."""
    result: list[Unit] = []
    for kind, start, text in _blocks(markdown):
        if kind == "sentence":
            result.extend(Unit("sentence", sentence, start + at) for at, sentence in _split(text))
        else:
            result.append(Unit(kind, text, start))
    return result


def sentences(text: str) -> list[str]:
    """Returns the text of all units in reading order."""
    return [unit.text for unit in units(text)]


def split_sentences(text: str) -> list[str]:
    """The text cut after each sentence and at blank lines. No character is lost: the pieces joined are the text."""
    line_ends = (match.end() for match in _BLANK_LINE.finditer(text))
    cuts = sorted({0, len(text), *_sentence_ends(text), *line_ends})
    return [text[begin:end] for begin, end in pairwise(cuts)]


def _split(paragraph: str) -> Iterator[tuple[int, str]]:
    """Yields the position and text of each sentence."""
    for begin, end in pairwise([0, *_sentence_ends(paragraph), len(paragraph)]):
        yield from _stripped(begin, paragraph[begin:end])


def _sentence_ends(paragraph: str) -> Iterator[int]:
    """Where each sentence ends, white space included. Linear: a paragraph may have megabytes."""
    begin = counted = backticks = 0
    for match in _SENTENCE_END.finditer(paragraph):
        backticks += paragraph.count("`", counted, match.start())
        counted = match.start()
        tail = paragraph[max(begin, counted - _ABBREVIATION_MAX) : counted]
        if backticks % 2 or _ABBREVIATIONS.search(tail):
            continue
        begin = counted = match.end()
        backticks = 0
        yield begin


def _stripped(begin: int, text: str) -> Iterator[tuple[int, str]]:
    if text.strip():
        yield begin + len(text) - len(text.lstrip()), text.strip()


def _blocks(markdown: str) -> Iterator[tuple[UnitKind, int, str]]:
    """Yields kind, position and text of each block; a paragraph has the kind "sentence"."""
    lines = markdown.splitlines(keepends=True)
    position, at = 0, 0
    while at < len(lines):
        kind, end = line_kind(lines[at]), block_end(lines, at)
        text = "".join(lines[at:end])
        if kind != "blank":
            yield from ((_KINDS[kind], start, block) for start, block in _stripped(position, text))
        position += len(text)
        at = end
