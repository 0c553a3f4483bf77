"""An answer on a terminal: Markdown that grows while it is written. Loads rich."""

import re
from collections.abc import Sequence

from rich.constrain import Constrain
from rich.live import Live
from rich.style import Style
from rich.text import Text

from bookwise.cli.highlighted_markdown import HighlightedMarkdown
from bookwise.cli.output import console, printable
from bookwise.cli.styled_text import write_styled
from bookwise.domain.answers import Highlight

_FENCE = ("```", "~~~")
_ITEM = re.compile(r"[-*+] |\d{1,3}[.)] ")


class TerminalWriter:
    """For a terminal: redraws the block that is being written with each part; finished blocks stay."""

    links_lines = True

    def __init__(self) -> None:
        self._open_block = ""
        self._highlights: list[Highlight] = []  #: in the open block and what follows it
        self._live: Live | None = None
        self._blocks_written = 0

    def say(self, text: str, highlights: Sequence[Highlight] = ()) -> None:
        if not console().no_color:
            self._highlights += [highlight.moved(len(self._open_block)) for highlight in highlights]
        *complete, self._open_block = blocks(self._open_block + printable(text))
        for block in complete:
            self._draw(block)
            self._close()
            self._highlights = [highlight.moved(-len(block)) for highlight in self._highlights]
        if self._open_block.strip():
            self._draw(self._open_block)

    def end(self) -> None:
        self._close()
        self._open_block, self._highlights, self._blocks_written = "", [], 0

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        if not link:
            write_styled(text, style=style, indent=indent)
            return
        styled = Text(printable(text), style=style)
        if link.startswith(("https://", "http://")):
            styled.stylize(Style(link=printable(link)))
        console().print(Text(" " * indent) + styled, soft_wrap=True)  # a wrapped URL cannot be copied

    def passage(self, text: str) -> None:
        console().print()
        console().print(HighlightedMarkdown(printable(text)))
        console().print()

    def _draw(self, block: str) -> None:
        if self._live is None:
            if self._blocks_written:
                console().print()
            self._live = Live(console=console(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        width = console().width - len("^C")  # the terminal echoes ^C after the last line, which must not wrap
        self._live.update(Constrain(HighlightedMarkdown(block, self._highlights), width), refresh=True)

    def _close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._blocks_written += 1
        self._live = None


def blocks(text: str) -> list[str]:
    """The blocks of a Markdown text that is still growing. Only the last block can still change."""
    parts, after_blank, fenced = [""], False, False
    for line in text.splitlines(keepends=True):
        continues = not line.strip() or (_ITEM.match(parts[-1]) and (line[0].isspace() or _ITEM.match(line)))
        if after_blank and not fenced and not continues:
            parts.append("")
        parts[-1] += line
        if line.lstrip().startswith(_FENCE):
            fenced = not fenced
        after_blank = not line.strip()
    return parts
