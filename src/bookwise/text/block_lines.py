"""Markdown lines → where a block begins and ends. `blocks` and `sentences` both read Markdown by this rule."""

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, cast

from bookwise.text.fences import FENCE

LineKind: TypeAlias = Literal["blank", "code", "heading", "table", "item", "prose"]

_BEGINNING = re.compile(
    r"(?P<blank>\s*$)"
    rf"|(?P<code>{FENCE.pattern})"
    r"|(?P<heading>\s{0,3}#{1,6}\s+\S)"
    r"|(?P<table>\s*\|.*\|\s*$)"
    r"|(?P<item>\s*(?:[-*+]|\d{1,3}[.)])\s+\S)"  # a number alone at the start of a line is prose
)


def line_kind(line: str) -> LineKind:
    """What a line begins; "prose" if it begins nothing."""
    beginning = _BEGINNING.match(line)
    return cast(LineKind, beginning.lastgroup) if beginning else "prose"


def block_end(lines: Sequence[str], at: int) -> int:
    """The line after the block that begins at a line. An item ends at a blank line and before its sub-items."""
    depth = indent(lines[at])
    match line_kind(lines[at]):
        case "code":
            return _fence_end(lines, at)
        case "table":
            return end_while(lines, at, lambda line: line_kind(line) == "table")
        case "item":
            return end_while(lines, at + 1, lambda line: line_kind(line) == "prose" and indent(line) > depth)
        case "prose":
            return end_while(lines, at + 1, lambda line: line_kind(line) == "prose")
    return at + 1


def _fence_end(lines: Sequence[str], at: int) -> int:
    """The line after the closing fence; the end of the text without one."""
    opening = FENCE.match(lines[at])
    fence = opening.group(1) if opening else "```"
    for index in range(at + 1, len(lines)):
        closing = lines[index].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return index + 1
    return len(lines)


def end_while(lines: Sequence[str], at: int, holds: Callable[[str], bool]) -> int:
    """The first line from `at` on for which the condition does not hold."""
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())
