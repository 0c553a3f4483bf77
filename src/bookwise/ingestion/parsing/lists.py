"""List items made of blocks → a Markdown list, with long code as separate blocks."""

import textwrap
from collections.abc import Iterable, Iterator

from bookwise.domain.books import Block
from bookwise.ingestion.parsing.fences import LONG_CODE


def list_blocks(items: Iterable[tuple[str, Iterable[Block]]]) -> Iterator[Block]:
    """(marker, blocks) pairs as one block of kind list, divided where an item has long code."""
    lines: list[str] = []
    for marker, blocks in items:
        prefix = f"{marker} "
        for block in blocks:
            if block.kind == "code" and len(block.text) > LONG_CODE:
                yield from _list_block([*lines, *([prefix.rstrip()] if prefix.strip() else [])])
                yield block
                lines, prefix = [], " " * (len(marker) + 1)
                continue
            gap = [""] if not prefix.strip() and lines and block.kind != "list" else []
            lines += [*gap, _indent(block.text, prefix)]
            prefix = " " * (len(marker) + 1)
    yield from _list_block(lines)


def _indent(text: str, prefix: str) -> str:
    return prefix + textwrap.indent(text, " " * len(prefix))[len(prefix) :]


def _list_block(lines: list[str]) -> Iterator[Block]:
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if text.strip():
        yield Block(kind="list", text=text)
