"""Markdown → units: headings, sentences, list items, code blocks and tables. The only sentence splitter."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

UnitKind: TypeAlias = Literal["heading", "sentence", "item", "code", "table"]

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
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
    at, index = 0, 0
    while index < len(lines):
        kind, length = _block_at(lines, index)
        text = "".join(lines[index : index + length])
        if kind is not None:
            yield from ((kind, start, block) for start, block in _stripped(at, text))
        at += len(text)
        index += length


def _block_at(lines: list[str], index: int) -> tuple[UnitKind | None, int]:
    """Returns the kind of the block that starts at a line (None: blank) and its number of lines."""
    line = lines[index]
    if not line.strip():
        return None, 1
    if fence := _FENCE.match(line):
        return "code", _fenced_length(lines, index, fence.group(1))
    if _HEADING.match(line):
        return "heading", 1
    if _TABLE.match(line):
        return "table", _count_while(lines, index, _TABLE.match)
    if item := _ITEM.match(line):
        return "item", _item_length(lines, index, len(item.group(1)))
    return "sentence", 1 + _count_while(lines, index + 1, _is_continuation)


def _fenced_length(lines: list[str], index: int, fence: str) -> int:
    for offset, line in enumerate(lines[index + 1 :], 2):
        if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            return offset
    return len(lines) - index


def _item_length(lines: list[str], index: int, indent: int) -> int:
    """Returns the number of lines up to the next item, a blank line or a line that is not indented below the item."""
    return 1 + _count_while(
        lines, index + 1, lambda line: _is_continuation(line) and len(line) - len(line.lstrip()) > indent
    )


def _is_continuation(line: str) -> bool:
    return bool(line.strip()) and not any(start.match(line) for start in (_FENCE, _HEADING, _TABLE, _ITEM))


def _count_while(lines: list[str], index: int, condition: Callable[[str], object]) -> int:
    count = 0
    while index + count < len(lines) and condition(lines[index + count]):
        count += 1
    return count
