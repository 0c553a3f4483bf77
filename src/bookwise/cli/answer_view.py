"""The events of an answer → what a reader sees of them: Markdown on a terminal, plain text in a pipe."""

import re
import sys
import textwrap
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from bookwise.answering.messages import title
from bookwise.cli.output import console, printable
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, Passage, SearchStarted, TextDelta
from bookwise.domain.books import Chunk
from bookwise.schemas.answers import AnswerSummary, summarize_answer

if TYPE_CHECKING:
    from rich.live import Live
    from rich.markdown import Markdown

REPEATED_MIN = 20  #: fewer characters are alike by chance
SEARCHING = "Searching the book …"

_FENCE = ("```", "~~~")
_ITEM = re.compile(r"[-*+] |\d{1,3}[.)] ")


class AnswerWriter(Protocol):
    """What answers are written on."""

    def say(self, piece: str) -> None:
        """The next piece of an answer's text; the reader sees it at once."""

    def end(self) -> None:
        """The answer's text is over, or broken off."""

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        """A line beside the answer."""

    def passage(self, text: str) -> None:
        """Text of the book, whole."""


def answer_writer() -> AnswerWriter:
    return TerminalWriter() if sys.stdout.isatty() else PlainWriter()


class PlainWriter:
    """A file or a pipe: no colours, no wrapping, and no time spent on loading them."""

    def __init__(self) -> None:
        self._line_is_open = False

    def say(self, piece: str) -> None:
        sys.stdout.write(printable(piece))
        sys.stdout.flush()
        self._line_is_open = not piece.endswith("\n")

    def end(self) -> None:
        if self._line_is_open:
            self.line("")
        self._line_is_open = False

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        sys.stdout.write(textwrap.indent(printable(text), " " * indent) + "\n")
        sys.stdout.flush()

    def passage(self, text: str) -> None:
        self.line(f"\n{text}\n")


class TerminalWriter:
    """A terminal: the block that is being written is drawn anew with each piece, the ones before it stand."""

    def __init__(self) -> None:
        self._open_block = ""
        self._live: Live | None = None
        self._blocks_written = 0

    def say(self, piece: str) -> None:
        *whole, self._open_block = blocks(self._open_block + printable(piece))
        for block in whole:
            self._draw(block)
            self._close()
        if self._open_block.strip():
            self._draw(self._open_block)

    def end(self) -> None:
        self._close()
        self._open_block, self._blocks_written = "", 0

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        from rich.padding import Padding
        from rich.style import Style
        from rich.text import Text

        shown = Text(printable(text), style=style)
        if not link:
            console().print(Padding(shown, (0, 0, 0, indent)))
            return
        if link.startswith(("https://", "http://")):
            shown.stylize(Style(link=printable(link)))
        console().print(Text(" " * indent) + shown, soft_wrap=True)  # a broken address cannot be copied

    def passage(self, text: str) -> None:
        console().print()
        console().print(_markdown(printable(text)))
        console().print()

    def _draw(self, block: str) -> None:
        from rich.constrain import Constrain
        from rich.live import Live

        if self._live is None:
            if self._blocks_written:
                console().print()
            self._live = Live(console=console(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        room = console().width - len("^C")  # which the terminal writes behind the last line; it must not wrap there
        self._live.update(Constrain(_markdown(block), room), refresh=True)

    def _close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._blocks_written += 1
        self._live = None


def blocks(text: str) -> list[str]:
    """The blocks of a Markdown text that is still growing; only the last one can still change."""
    found, after_blank, fenced = [""], False, False
    for line in text.splitlines(keepends=True):
        goes_on = not line.strip() or (_ITEM.match(found[-1]) and (line[0].isspace() or _ITEM.match(line)))
        if after_blank and not fenced and not goes_on:
            found.append("")
        found[-1] += line
        if line.lstrip().startswith(_FENCE):
            fenced = not fenced
        after_blank = not line.strip()
    return found


def _markdown(text: str) -> "Markdown":
    """Links show where they lead, and what looks like HTML is shown, where rich would hide both."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    shown = Markdown("", hyperlinks=False)
    shown.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
    return shown


class Status:
    """A line on a terminal's stderr that says what is being waited for."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            self.clear()
            self._shown = text
            sys.stderr.write(text)
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r{' ' * len(self._shown)}\r")
            sys.stderr.flush()
        self._shown = ""


async def followed(events: AsyncGenerator[AnswerEvent], on: AnswerWriter) -> Answer:
    """Writes the answer while it comes in, and returns it."""
    status, said = Status(), False
    answer: Answer | None = None
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case SearchStarted():
                        status.show(SEARCHING)
                    case TextDelta():
                        status.clear()
                        on.say(event.text)
                        said = True
                    case AnswerFinished():
                        answer = event.answer
        assert answer is not None, "the events of an answer always end with AnswerFinished"
        if not said:
            on.say(summarize_answer(answer).text)
        return answer
    finally:
        status.clear()
        on.end()
        on.line("")


def write_notes(told: AnswerSummary, on: AnswerWriter) -> None:
    """What a reader must know of an answer beside its text: why it is doubtful, or not whole."""
    if told.disclaimer:
        on.line(told.disclaimer, style="yellow")
    if told.outcome == "interrupted":
        on.line(f"The answer was cut off ({told.reason}).", style="yellow")
    if told.meta.truncated:
        on.line("The model stopped at its limit; the answer may not be whole.", style="yellow")
    if told.meta.degraded:
        on.line(f"Quoted from the book without a model, which could not answer ({told.meta.degraded}).", style="yellow")


def write_sources(told: AnswerSummary, on: AnswerWriter) -> None:
    """Where the book says so, each place with its address."""
    for passage in _introduced(told, on):
        where = passage.chunk.locator
        similarity = f"  similarity {passage.score:.2f}" if told.citations else ""
        on.line(f"[{passage.number}] {title(passage)}{similarity}", style="bold")
        on.line(where.url or where.source_file, style="cyan", indent=4, link=where.url)


def write_sources_briefly(told: AnswerSummary, on: AnswerWriter) -> None:
    """The same, one line each; on a terminal the line itself is the link."""
    for passage in _introduced(told, on):
        where = passage.chunk.locator
        address = "" if isinstance(on, TerminalWriter) else f"  {where.url or where.source_file}"
        on.line(f"[{passage.number}] {title(passage)}{address}", style="cyan", link=where.url)


def shown_passages(told: AnswerSummary) -> Sequence[Passage]:
    """The passages a reader sees named: cited, or the closest of a refusal."""
    return [citation.passage for citation in told.citations] or told.nearest


def whole_text(chunks: Sequence[Chunk]) -> str:
    """A lesson's text, with what its chunks repeat of one another said once."""
    text = ""
    for chunk in chunks:
        repeated = next((n for n in range(len(chunk.text), REPEATED_MIN, -1) if text.endswith(chunk.text[:n])), 0)
        text += chunk.text[repeated:] if repeated else f"\n\n{chunk.text}"
    return text.strip()


def summary(told: AnswerSummary) -> str:
    """How sure, how fast, by whom."""
    parts = [f"{told.meta.total_ms:.0f} ms", told.meta.model or told.meta.engine]
    if told.passages:
        parts.insert(0, f"confidence {told.confidence.level} ({told.confidence.average:.2f})")
    return " · ".join(parts)


def _introduced(told: AnswerSummary, on: AnswerWriter) -> Sequence[Passage]:
    passages = shown_passages(told)
    if passages:
        on.line("Sources:" if told.citations else "Closest in the book:", style="dim")
    return passages
