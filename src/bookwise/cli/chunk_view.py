"""Chunks of a lesson → Markdown on the terminal, each below a rule with its id. Loads rich."""

from collections.abc import Iterable

from rich.markdown import Markdown
from rich.rule import Rule

from bookwise.cli.output import console, printable
from bookwise.domain.books import Chunk


def write_chunks(chunks: Iterable[Chunk]) -> None:
    for chunk in chunks:
        console().print(Rule(f"{chunk.index + 1}/{chunk.total}  {chunk.id}", style="dim"))
        console().print(Markdown(printable(chunk.text)))
