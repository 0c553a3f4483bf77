"""Answer events → text: Markdown on a terminal, plain text in a pipe."""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bookwise.answering.messages import title
from bookwise.cli.writers import AnswerWriter
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, Passage, SearchStarted, TextDelta
from bookwise.domain.books import Chunk
from bookwise.schemas.answers import AnswerSummary, summarize_answer

OVERLAP_MIN = 20  #: characters; shorter matches are chance
SEARCHING = "Searching the book …"


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
                        writer.say(event.text, event.highlights)
                        has_text = True
                    case AnswerFinished():
                        answer = event.answer
        assert answer is not None, "the events of an answer always end with AnswerFinished"
        if not has_text:
            result = summarize_answer(answer)
            writer.say(result.text, result.highlights)
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
        writer.line(where.address, style="cyan", indent=4, link=where.url)


def write_sources_briefly(result: AnswerSummary, writer: AnswerWriter) -> None:
    """Like `write_sources`, one line each; on a terminal the line itself is the link."""
    for passage in _write_sources_heading(result, writer):
        where = passage.chunk.locator
        address = "" if writer.links_lines else f"  {where.address}"
        writer.line(f"[{passage.number}] {title(passage)}{address}", style="cyan", link=where.url)


def write_related(result: AnswerSummary, writer: AnswerWriter) -> None:
    """Other sections about the question, each with a line of it and its URL or file."""
    for passage, text in _write_related_heading(result, writer):
        where = passage.chunk.locator
        writer.line(text)
        writer.line(where.address, style="cyan", indent=4, link=where.url)


def write_related_briefly(result: AnswerSummary, writer: AnswerWriter) -> None:
    """Like `write_related`, one line each; on a terminal the line itself is the link."""
    for passage, text in _write_related_heading(result, writer):
        where = passage.chunk.locator
        address = "" if writer.links_lines else f"  {where.address}"
        writer.line(f"{text}{address}", style="cyan", link=where.url)


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
    if result.outcome == "answered":
        parts.insert(0, f"confidence {result.confidence.level} ({result.confidence.usefulness:.0%})")
    return " · ".join(parts)


def _write_sources_heading(result: AnswerSummary, writer: AnswerWriter) -> Sequence[Passage]:
    passages = shown_passages(result)
    if passages:
        writer.line("Sources:" if result.citations else "Closest in the book:", style="dim")
    return passages


def _write_related_heading(result: AnswerSummary, writer: AnswerWriter) -> list[tuple[Passage, str]]:
    if result.related:
        writer.line("See also:", style="dim")
    return [(related.passage, f"{title(related.passage)}: {related.line}") for related in result.related]
