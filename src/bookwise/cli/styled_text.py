"""Styled lines on a terminal. Loads the core of rich, without Markdown."""

from rich.padding import Padding
from rich.text import Text

from bookwise.cli.output import console, printable


def write_styled(text: str, *, style: str = "", indent: int = 0) -> None:
    """Writes a text with a style; every line is indented, also where it wraps."""
    console().print(Padding(Text(printable(text), style=style), (0, 0, 0, indent)))
