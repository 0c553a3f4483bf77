"""mdBook Markdown → Markdown without the lines of Rust code that the page hides."""

import re
from collections.abc import Iterator

from bookwise.ingestion.parsing.fences import FENCE, fence_end

_RUST = re.compile(r"\s*rust(?![\w-])")
_HASH_LINE = re.compile(r"([\s>]*)#(.?)(.*)")


def without_hidden_lines(text: str) -> str:
    """In Rust code, a line after `#` is only for the compiler. `##` stands for `#`; `#[` and `#!` are attributes."""
    return "\n".join(_visible_lines(text.split("\n"))) if "rust" in text else text


def _visible_lines(lines: list[str]) -> Iterator[str]:
    index = 0
    while index < len(lines):
        fence = FENCE.fullmatch(lines[index])
        end = fence_end(lines, index, fence[2]) if fence else index
        yield lines[index]
        body = lines[index + 1 : end]
        yield from _visible_code(body) if fence and _RUST.match(fence[3]) else body
        yield from lines[end : end + 1] if fence else ()
        index = end + 1


def _visible_code(lines: list[str]) -> Iterator[str]:
    for line in lines:
        hash_line = _HASH_LINE.fullmatch(line)
        if hash_line is None or hash_line[2] in ("[", "!"):
            yield line
        elif hash_line[2] == "#":
            yield f"{hash_line[1]}#{hash_line[3]}"
