"""Answers: engines that write them, and models that help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # a search should not load the types of jobs, threads and keys
    from collections.abc import AsyncIterator, Sequence

    from bookwise.domain.answers import (
        Citation,
        EngineName,
        Evidence,
        Passage,
        RelatedSection,
        SearchStarted,
        TextDelta,
        Usage,
    )
    from bookwise.domain.books import Book
    from bookwise.domain.threads import ThreadMessage


Retrieve: TypeAlias = Callable[[str, int, float], Awaitable[tuple["Passage", ...]]]
"""(query, top_k, similarity threshold) → passages from the book of the question. A passage that is found again keeps
its number; new passages get the next numbers."""
ReadSection: TypeAlias = Callable[["Passage"], Awaitable[str]]
"""passage → the whole section it belongs to, as Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTask:
    """The input of an engine for one answer."""

    question: str  #: as the reader typed it
    standalone: str  #: the question with its follow-up references resolved
    book: Book
    evidence: Evidence
    history: tuple[ThreadMessage, ...] = ()
    retrieve: Retrieve
    read_section: ReadSection
    temperature: float = 0.0
    max_tokens: int | None = None  #: longest answer; None: the model's own limit
    top_k: int = 5  #: passages per search, unless the engine asks for another number
    system_prompt: str | None = None  #: of the engine `agent`; None: the built-in one
    deadline: float  #: `anyio.current_time()` at which the caller stops waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The last event of an engine: usage, and how the text ended."""

    usage: Usage
    model: str = ""
    truncated: bool = False  #: the model reached its length limit or ours
    citations: tuple[
        Citation, ...
    ] = ()  #: from an engine that only quotes; the text of other engines is checked for citations
    related: tuple[RelatedSection, ...] = ()  #: from an engine that only quotes


class Answerer(Protocol):
    """Writes an answer from passages, citing them as [n] (or [Source: Page Title]).

    Yields text deltas, a `SearchStarted` for each further search, and exactly one `Written` at the end. Raises
    `ModelUnavailable`, before or after the first delta. An engine never repeats text it has already yielded.
    """

    @property
    def name(self) -> EngineName: ...

    def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]: ...


class Rewriter(Protocol):
    """Rewrites a follow-up question with a language model, so that it can be understood without its thread."""

    async def standalone(self, question: str, history: Sequence[ThreadMessage], *, deadline: float) -> str:
        """The stand-alone question. Raises `ModelUnavailable`."""


class ModelStatus(Protocol):
    """How the language model has responded so far. Costs no call."""

    @property
    def is_available(self) -> bool:
        """False while no requests are sent, because too many have failed."""

    @property
    def latency_seconds(self) -> float | None:
        """Time to the first part of the newest response; None before the first."""
