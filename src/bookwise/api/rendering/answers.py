"""Answers and stored messages → the same with their text as HTML."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from bookwise.api.rendering.markdown import render
from bookwise.domain.answers import Highlight, Level, usefulness_level
from bookwise.schemas.chat import ChatResponse
from bookwise.schemas.sessions import ConversationThread, HistoryMessage

CACHED_MAX = 256  #: texts; most answers have fewer than 2,000 characters


@lru_cache(maxsize=CACHED_MAX)
def answer_html(text: str, highlights: tuple[Highlight, ...]) -> str:
    """Returns an answer, or a part of it, as HTML. A quote is the same text each time it is shown: while it is
    streamed, when it is complete, after a reload, and for the next reader who asks this."""
    return render(text, highlights, cited=True)


def with_html(response: ChatResponse) -> ChatResponse:
    """Returns the response with `html`."""
    highlights = tuple(Highlight(part.start, part.end) for part in response.highlights)
    return response.model_copy(update={"html": answer_html(response.response, highlights)})


def messages_with_html(thread: ConversationThread) -> ConversationThread:
    """Returns the session with `html` for each message of the assistant."""
    return thread.model_copy(update={"messages": tuple(map(_with_html, thread.messages))})


def _with_html(message: HistoryMessage) -> HistoryMessage:
    if message.role == "user":
        return message
    highlights = tuple(_highlights(message.details.get("highlights", ())))
    html = answer_html(message.content, highlights)
    return message.model_copy(update={"html": html, "confidence_level": _level(message)})


def _level(message: HistoryMessage) -> Level:
    """The level that the answer was shown with."""
    if message.confidence is None or message.details.get("outcome") != "answered":
        return "insufficient"
    return usefulness_level(message.confidence)


def _highlights(ranges: Iterable[Mapping[str, Any]]) -> Iterable[Highlight]:
    return (Highlight(part["start"], part["end"]) for part in ranges)
