"""The public objects of `ask()`: a query, and the response with its answer, citations and timings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeAlias

from pydantic import AliasChoices, Field, ValidationInfo, field_validator

from bookwise.answering.prompts import DEFAULT_BOOK_TITLE, build_prompt
from bookwise.domain.answers import Answer, Citation, EngineName, Level, Question
from bookwise.domain.books import DEFAULT_MODULES, Book, names_and_aliases
from bookwise.domain.errors import BookwiseError
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.schemas.answers import (
    AnswerSummary,
    GroundingReport,
    HighlightRange,
    Outcome,
    RelatedLink,
    summarize_answer,
)
from bookwise.schemas.library import (
    MIN_RELEVANCE_SCORE,
    LibraryShape,
    RetrievalContext,
    RetrievalResult,
    sources_footer,
)
from bookwise.schemas.wire import now

__all__ = [
    "DEFAULT_BOOK_TITLE",
    "AgentResponse",
    "AskConfidence",
    "AskOutcome",
    "CitedSource",
    "Query",
    "ask_confidence",
    "build_prompt",
    "module_names",
]

AskConfidence: TypeAlias = Literal["high", "low", "none"]
AskOutcome: TypeAlias = Outcome | Literal["failed"]


def ask_confidence(scores: Sequence[float], min_relevance: float = MIN_RELEVANCE_SCORE) -> AskConfidence:
    """The confidence by the top score alone. A top score of 0 counts as no result."""
    top = max(scores, default=0.0)
    if top <= 0:
        return "none"
    return "high" if top >= min_relevance else "low"


def module_names(book: Book | None) -> frozenset[str]:
    """The modules and aliases to filter by; the default book's without a book. Empty when the book lists none."""
    return names_and_aliases(DEFAULT_MODULES) if book is None else book.module_names


class Query(LibraryShape):
    """A question about a book. Its module must be one of the default book's, or of the book given to `for_book`."""

    text: str
    top_k: int = Field(default=5, ge=1, le=SEARCH_LIMIT_MAX)
    module_filter: str | None = None

    @field_validator("text")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty or blank")
        return text

    @field_validator("module_filter")
    @classmethod
    def _require_module(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is None:
            return None
        allowed = module_names(info.context["book"] if info.context else None)
        if allowed and name not in allowed:
            raise ValueError(
                f"must be one of {', '.join(sorted(allowed))}; to ask another book, pass module_filter to ask()"
            )
        return name

    @classmethod
    def for_book(cls, book: Book, **fields: Any) -> Self:
        """A query whose module must be one of this book's; a book without modules accepts any name."""
        return cls.model_validate(fields, context={"book": book})

    def question(self, book_id: str, *, threshold: float = 0.0, engine: EngineName | None = None) -> Question:
        return Question(
            text=self.text,
            book_id=book_id,
            module=self.module_filter,
            top_k=self.top_k,
            threshold=threshold,
            engine=engine,
        )


class CitedSource(LibraryShape):
    """A source that the answer uses."""

    page_title: str
    page_url: str | None = None
    module_name: str
    number: int | None = Field(default=None, ge=1, description="The [n] in the answer.")
    quote: str = Field(default="", description="The words of the source that support the answer.")
    section: str | None = None

    @classmethod
    def of(cls, citation: Citation) -> Self:
        return cls.of_result(RetrievalResult.of(citation.passage, quote=citation.quote))

    @classmethod
    def of_result(cls, result: RetrievalResult) -> Self:
        return cls(
            page_title=result.page_title,
            page_url=result.page_url or None,
            module_name=result.module_name,
            number=result.number,
            quote=result.quote,
            section=result.section_heading,
        )


def _citations(fields: dict[str, Any]) -> tuple[CitedSource, ...]:
    return tuple(CitedSource.of_result(source) for source in fields.get("sources", ()))


def _retrieval_count(fields: dict[str, Any]) -> int:
    context: RetrievalContext | None = fields.get("context")
    return len(fields.get("sources", ()) if context is None else context.chunks)


class AgentResponse(LibraryShape):
    """A complete answer. A refusal is an answer; `error` is set for blocked, interrupted and failed ones."""

    answer: str = Field(validation_alias=AliasChoices("answer", "content"))
    query: str = ""
    context: RetrievalContext | None = Field(
        default=None, description="Everything that was retrieved, cited or not. `confidence` is measured on it."
    )
    sources: tuple[RetrievalResult, ...] = Field(default=(), description="The chunks that the answer cites.")
    citations: tuple[CitedSource, ...] = Field(default_factory=_citations)
    highlights: tuple[HighlightRange, ...] = Field(
        default=(), description="The parts of `answer` that answer the question, in order. Only of quoted answers."
    )
    related: tuple[RelatedLink, ...] = Field(
        default=(), description="At most three other sections, best first. Only of quoted answers."
    )
    retrieval_time_ms: float = Field(default=0.0, ge=0)
    generation_time_ms: float = Field(default=0.0, ge=0)
    total_time_ms: float = Field(default=0.0, ge=0)
    confidence: AskConfidence = "none"
    error: str | None = None
    outcome: AskOutcome = "answered"
    reason: str | None = Field(default=None, description="Why it was refused, blocked or cut off.")
    confidence_level: Level | None = None
    grounding: GroundingReport | None = None
    degraded: str | None = None
    truncated: bool = False
    disclaimer: str | None = None
    model: str = Field(default="", description="The model that wrote the answer, or the engine without a model.")
    tokens_used: int = Field(default=0, ge=0, description="Prompt and completion tokens.")
    retrieval_count: int = Field(default_factory=_retrieval_count, ge=0)
    created_at: datetime = Field(default_factory=now)

    @field_validator("answer")
    @classmethod
    def _require_answer(cls, answer: str) -> str:
        if not answer.strip():
            raise ValueError("must not be empty")
        return answer

    @property
    def content(self) -> str:
        return self.answer

    def format_with_sources(self) -> str:
        """The answer as Markdown with the cited sources below it."""
        footer = sources_footer(self.sources)
        return f"{self.answer}\n{footer}" if footer else self.answer

    @classmethod
    def of(
        cls, answer: Answer, *, query: str = "", min_relevance: float = MIN_RELEVANCE_SCORE, module: str | None = None
    ) -> Self:
        summary = summarize_answer(answer)
        meta, evidence = summary.meta, summary.evidence
        cited = enumerate(summary.citations, 1)
        return cls(
            answer=summary.text,
            query=query,
            context=RetrievalContext.of(evidence, min_relevance=min_relevance, filter_applied=module)
            if evidence
            else None,
            sources=tuple(RetrievalResult.of(c.passage, rank=rank, quote=c.quote) for rank, c in cited),
            highlights=tuple(map(HighlightRange.of, summary.highlights)),
            related=tuple(map(RelatedLink.of, summary.related)),
            retrieval_time_ms=meta.retrieval_ms,
            generation_time_ms=meta.generation_ms,
            total_time_ms=meta.total_ms,
            confidence=ask_confidence([passage.score for passage in summary.passages], min_relevance),
            error=_error(summary),
            outcome=summary.outcome,
            reason=summary.reason,
            confidence_level=summary.confidence.level,
            grounding=summary.grounding,
            degraded=meta.degraded,
            truncated=meta.truncated,
            disclaimer=summary.disclaimer,
            model=meta.model or meta.engine,
            tokens_used=meta.usage.total_tokens,
        )

    @classmethod
    def failed(cls, error: BookwiseError, *, query: str, total_ms: float = 0.0) -> Self:
        """A response for a question that raised an error; its answer is the error message."""
        text = f"{error.message} {error.advice}".strip()
        return cls(answer=text, query=query, total_time_ms=total_ms, error=text, outcome="failed", reason=error.code)


def _error(summary: AnswerSummary) -> str | None:
    if summary.outcome == "blocked":
        return f"The message was not answered: {summary.reason}."
    return f"The answer was cut off: {summary.reason}." if summary.outcome == "interrupted" else None
