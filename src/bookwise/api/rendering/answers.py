"""Answers and stored messages → the same with their text as HTML."""

from collections.abc import Iterable, Mapping
from typing import Any

from bookwise.api.rendering.markdown import render
from bookwise.domain.answers import Highlight, Level, usefulness_level
from bookwise.schemas.chat import ChatResponse
from bookwise.schemas.sessions import ConversationThread, HistoryMessage


def with_html(response: ChatResponse) -> ChatResponse:
    """Returns the response with `html`."""
    highlights = [Highlight(part.start, part.end) for part in response.highlights]
    return response.model_copy(update={"html": render(response.response, highlights, cited=True)})


def messages_with_html(thread: ConversationThread) -> ConversationThread:
    """Returns the session with `html` for each message of the assistant."""
    return thread.model_copy(update={"messages": tuple(map(_with_html, thread.messages))})


def _with_html(message: HistoryMessage) -> HistoryMessage:
    if message.role == "user":
        return message
    highlights = list(_highlights(message.details.get("highlights", ())))
    html = render(message.content, highlights, cited=True)
    return message.model_copy(update={"html": html, "confidence_level": _level(message)})


def _level(message: HistoryMessage) -> Level:
    """The level that the answer was shown with."""
    if message.confidence is None or message.details.get("outcome") != "answered":
        return "insufficient"
    return usefulness_level(message.confidence)


def _highlights(ranges: Iterable[Mapping[str, Any]]) -> Iterable[Highlight]:
    return (Highlight(part["start"], part["end"]) for part in ranges)
