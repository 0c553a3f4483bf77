"""Answer events → text: Markdown on a terminal, plain text in a pipe."""

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

OVERLAP_MIN = 20  #: characters; shorter matches are chance
SEARCHING = "Searching the book …"

_FENCE = ("```", "~~~")
_ITEM = re.compile(r"[-*+] |\d{1,3}[.)] ")


class AnswerWriter(Protocol):
    """Where an answer is written to."""

    def say(self, piece: str) -> None:
        """Writes the next part of the answer; it is visible immediately."""

    def end(self) -> None:
        """The answer is complete or was stopped."""

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        """Writes a line that is not part of the answer."""

    def passage(self, text: str) -> None:
        """Writes text of the book in full."""


def answer_writer() -> AnswerWriter:
    return TerminalWriter() if sys.stdout.isatty() else PlainWriter()


class PlainWriter:
    """For files and pipes: no colours, no wrapping, and rich is not loaded."""

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
    """For a terminal: redraws the block that is being written with each part; finished blocks stay."""

    def __init__(self) -> None:
        self._open_block = ""
        self._live: Live | None = None
        self._blocks_written = 0

    def say(self, piece: str) -> None:
        *complete, self._open_block = blocks(self._open_block + printable(piece))
        for block in complete:
            self._draw(block)
            self._close()
        if self._open_block.strip():
            self._draw(self._open_block)

    def end(self) -> None:
        self._close()
        self._open_block, self._blocks_written = "", 0

    def line(self, text: str, *, style: str = "", indent: int = 0, link: str = "") -> None:
        from rich.padding import Padding  # loads rich: 0.05 s
        from rich.style import Style
        from rich.text import Text

        styled = Text(printable(text), style=style)
        if not link:
            console().print(Padding(styled, (0, 0, 0, indent)))
            return
        if link.startswith(("https://", "http://")):
            styled.stylize(Style(link=printable(link)))
        console().print(Text(" " * indent) + styled, soft_wrap=True)  # a wrapped URL cannot be copied

    def passage(self, text: str) -> None:
        console().print()
        console().print(_markdown(printable(text)))
        console().print()

    def _draw(self, block: str) -> None:
        from rich.constrain import Constrain  # loads rich: 0.05 s
        from rich.live import Live

        if self._live is None:
            if self._blocks_written:
                console().print()
            self._live = Live(console=console(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        width = console().width - len("^C")  # the terminal echoes ^C after the last line, which must not wrap
        self._live.update(Constrain(_markdown(block), width), refresh=True)

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


def _markdown(text: str) -> "Markdown":
    """Shows link targets and HTML as text; by default rich hides both."""
    from markdown_it import MarkdownIt  # loads rich: 0.05 s
    from rich.markdown import Markdown

    markdown = Markdown("", hyperlinks=False)
    markdown.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
    return markdown


class Status:
    """A status line on stderr, on a terminal only."""

    def __init__(self) -> None:
        self._text = ""

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            self.clear()
            self._text = text
            sys.stderr.write(text)
            sys.stderr.flush()

    def clear(self) -> None:
        if self._text:
            sys.stderr.write(f"\r{' ' * len(self._text)}\r")
            sys.stderr.flush()
        self._text = ""


async def followed(events: AsyncGenerator[AnswerEvent], writer: AnswerWriter) -> Answer:
    """Writes the answer as it arrives, and returns it."""
    status, has_text = Status(), False
    answer: Answer | None = None
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case SearchStarted():
                        status.show(SEARCHING)
                    case TextDelta():
                        status.clear()
                        writer.say(event.text)
                        has_text = True
                    case AnswerFinished():
                        answer = event.answer
        assert answer is not None, "the events of an answer always end with AnswerFinished"
        if not has_text:
            writer.say(summarize_answer(answer).text)
        return answer
    finally:
        status.clear()
        writer.end()
        writer.line("")


def write_notes(result: AnswerSummary, writer: AnswerWriter) -> None:
    """Notes on the answer: low confidence, interrupted, truncated, or written without the model."""
    if result.disclaimer:
        writer.line(result.disclaimer, style="yellow")
    if result.outcome == "interrupted":
        writer.line(f"The answer was interrupted ({result.reason}). Ask again to get a complete one.", style="yellow")
    if result.meta.truncated:
        writer.line("The model reached its length limit; the answer may be incomplete.", style="yellow")
    if result.meta.degraded:
        writer.line(f"Quoted from the book, because the model failed ({result.meta.degraded}).", style="yellow")


def write_sources(result: AnswerSummary, writer: AnswerWriter) -> None:
    """The sources of the answer, each with its URL or file."""
    for passage in _write_sources_heading(result, writer):
        where = passage.chunk.locator
        similarity = f"  similarity {passage.score:.2f}" if result.citations else ""
        writer.line(f"[{passage.number}] {title(passage)}{similarity}", style="bold")
        writer.line(where.url or where.source_file, style="cyan", indent=4, link=where.url)


def write_sources_briefly(result: AnswerSummary, writer: AnswerWriter) -> None:
    """Like `write_sources`, one line each; on a terminal the line itself is the link."""
    for passage in _write_sources_heading(result, writer):
        where = passage.chunk.locator
        address = "" if isinstance(writer, TerminalWriter) else f"  {where.url or where.source_file}"
        writer.line(f"[{passage.number}] {title(passage)}{address}", style="cyan", link=where.url)


def shown_passages(result: AnswerSummary) -> Sequence[Passage]:
    """The passages shown to the reader: those cited, or the closest ones of a refusal."""
    return [citation.passage for citation in result.citations] or result.nearest


def whole_text(chunks: Sequence[Chunk]) -> str:
    """The text of a lesson, without the overlaps of its chunks."""
    text = ""
    for chunk in chunks:
        overlap = next((n for n in range(len(chunk.text), OVERLAP_MIN, -1) if text.endswith(chunk.text[:n])), 0)
        text += chunk.text[overlap:] if overlap else f"\n\n{chunk.text}"
    return text.strip()


def summary(result: AnswerSummary) -> str:
    """Confidence, duration and engine or model in one line."""
    parts = [f"{result.meta.total_ms:.0f} ms", result.meta.model or result.meta.engine]
    if result.passages:
        parts.insert(0, f"confidence {result.confidence.level} ({result.confidence.average:.2f})")
    return " · ".join(parts)


def _write_sources_heading(result: AnswerSummary, writer: AnswerWriter) -> Sequence[Passage]:
    passages = shown_passages(result)
    if passages:
        writer.line("Sources:" if result.citations else "Closest in the book:", style="dim")
    return passages
