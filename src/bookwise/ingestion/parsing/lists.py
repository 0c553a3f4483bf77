"""Items of a list, each made of blocks → Markdown's list, with long code as blocks of its own."""

import textwrap
from collections.abc import Iterable, Iterator

from bookwise.domain.books import Block
from bookwise.ingestion.parsing.fences import LONG_CODE


def list_blocks(items: Iterable[tuple[str, Iterable[Block]]]) -> Iterator[Block]:
    """(marker, blocks of the item) pairs as one block of kind list, cut where long code stands."""
    written: list[str] = []
    for marker, blocks in items:
        pending = f"{marker} "
        for block in blocks:
            if block.kind == "code" and len(block.text) > LONG_CODE:
                yield from _joined([*written, *([pending.rstrip()] if pending.strip() else [])])
                yield block
                written, pending = [], " " * (len(marker) + 1)
                continue
            gap = [""] if not pending.strip() and written and block.kind != "list" else []
            written += [*gap, _indented(block.text, pending)]
            pending = " " * (len(marker) + 1)
    yield from _joined(written)


def _indented(text: str, first: str) -> str:
    return first + textwrap.indent(text, " " * len(first))[len(first) :]


def _joined(lines: list[str]) -> Iterator[Block]:
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if text.strip():
        yield Block(kind="list", text=text)
