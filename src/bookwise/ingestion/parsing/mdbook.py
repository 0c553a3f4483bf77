"""mdBook Markdown → Markdown without the lines of Rust code that the page hides."""

import re
from collections.abc import Iterator

from bookwise.ingestion.parsing.fences import change_code

_RUST = re.compile(r"\s*rust(?![\w-])")
_HASH_LINE = re.compile(r"([\s>]*)#(.?)(.*)")


def without_hidden_lines(text: str) -> str:
    """In Rust code, a line after `#` is only for the compiler. `##` stands for `#`; `#[` and `#!` are attributes."""
    return change_code(text, _visible_code) if "rust" in text else text


def _visible_code(info: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        hash_line = _HASH_LINE.fullmatch(line) if _RUST.match(info) else None
        if hash_line is None or hash_line[2] in ("[", "!"):
            yield line
        elif hash_line[2] == "#":
            yield f"{hash_line[1]}#{hash_line[3]}"
