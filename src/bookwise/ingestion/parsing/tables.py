"""Rows of cells → a Markdown table."""

from collections.abc import Sequence

from bookwise.domain.books import Block


def pipe_table(head: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> Block | None:
    """The table with one row per line and a rule below the head; None when all cells are empty."""
    rows = [_row(cells) for cells in head]
    if head:
        rows.append("|" + " --- |" * max(map(len, head)))
    rows += [_row(cells) for cells in body]
    if not any(row.strip("|- ") for row in rows):
        return None
    return Block(kind="table", text="\n".join(rows))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
