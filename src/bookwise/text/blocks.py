"""Markdown → blocks: headings, paragraphs, whole lists, code and tables, in reading order.

`sentences` cuts the same blocks smaller: it takes each item of a list and each sentence of a paragraph by itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bookwise.text.block_lines import LineKind, block_end, end_while, indent, line_kind

MarkdownKind: TypeAlias = Literal["heading", "paragraph", "list", "code", "table"]

_KINDS: Mapping[LineKind, MarkdownKind] = {
    "code": "code",
    "heading": "heading",
    "table": "table",
    "item": "list",
    "prose": "paragraph",
}


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A block as in its source. A list holds all its items, with the code and paragraphs inside them."""

    kind: MarkdownKind
    text: str


def markdown_blocks(markdown: str) -> list[MarkdownBlock]:
    """Every block in reading order."""
    return list(_blocks(markdown.splitlines()))


def _blocks(lines: list[str]) -> Iterator[MarkdownBlock]:
    at = 0
    while at < len(lines):
        kind = line_kind(lines[at])
        end = _list_end(lines, at) if kind == "item" else block_end(lines, at)
        if kind != "blank":
            yield MarkdownBlock(_KINDS[kind], "\n".join(lines[at:end]).rstrip())
        at = end


def _list_end(lines: list[str], at: int) -> int:
    """A list goes on over blank lines when an item or something indented below its first item follows."""
    depth = indent(lines[at])
    index = at + 1
    while index < len(lines):
        kind = line_kind(lines[index])
        if kind == "code" and indent(lines[index]) > depth:
            index = block_end(lines, index)
        elif kind == "blank":
            following = end_while(lines, index, lambda line: line_kind(line) == "blank")
            if following == len(lines) or not _belongs_to_list(lines[following], depth):
                break
            index = following
        elif kind == "prose" or _belongs_to_list(lines[index], depth):
            index += 1
        else:
            break
    return index


def _belongs_to_list(line: str, depth: int) -> bool:
    return line_kind(line) == "item" or indent(line) > depth
