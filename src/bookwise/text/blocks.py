"""Markdown → blocks: headings, paragraphs, whole lists, code and tables, in reading order."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

MarkdownKind: TypeAlias = Literal["heading", "paragraph", "list", "code", "table"]

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")


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
        if not lines[at].strip():
            at += 1
            continue
        kind, end = _block_at(lines, at)
        yield MarkdownBlock(kind, "\n".join(lines[at:end]).rstrip())
        at = end


def _block_at(lines: list[str], at: int) -> tuple[MarkdownKind, int]:
    """The kind of the block that begins at a line, and the line after its last one."""
    line = lines[at]
    if _FENCE.match(line):
        return "code", _after_fence(lines, at)
    if _HEADING.match(line):
        return "heading", at + 1
    if _TABLE.match(line):
        return "table", _end(lines, at, _is_row)
    if _ITEM.match(line):
        return "list", _after_list(lines, at)
    return "paragraph", _end(lines, at + 1, _is_prose)


def _after_fence(lines: list[str], at: int) -> int:
    opening = _FENCE.match(lines[at])
    fence = opening.group(1) if opening else "```"
    for index in range(at + 1, len(lines)):
        closing = lines[index].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return index + 1
    return len(lines)


def _after_list(lines: list[str], at: int) -> int:
    """A list goes on over blank lines when an item or something indented below its first item follows."""
    indent = _indent(lines[at])
    index = at + 1
    while index < len(lines):
        if _FENCE.match(lines[index]) and _indent(lines[index]) > indent:
            index = _after_fence(lines, index)
        elif lines[index].strip():
            if not _continues_list(lines[index], indent):
                break
            index += 1
        else:
            following = _end(lines, index, _is_blank)
            if following == len(lines) or not _belongs_to_list(lines[following], indent):
                break
            index = following
    return index


def _continues_list(line: str, indent: int) -> bool:
    return _belongs_to_list(line, indent) or not (_FENCE.match(line) or _HEADING.match(line) or _TABLE.match(line))


def _belongs_to_list(line: str, indent: int) -> bool:
    return bool(_ITEM.match(line)) or _indent(line) > indent


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_blank(line: str) -> bool:
    return not line.strip()


def _is_row(line: str) -> bool:
    return bool(_TABLE.match(line))


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not any(start.match(line) for start in (_FENCE, _HEADING, _TABLE, _ITEM))


def _end(lines: list[str], at: int, holds: Callable[[str], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at
