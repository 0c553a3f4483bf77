"""The public shapes of `ask()`: query, retrieval context, answer with citations, configuration."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, ValidationInfo, field_validator, model_validator

from bookwise.domain.answers import Answer, EngineName, Evidence, Level, Passage, Question
from bookwise.domain.answers import Citation as Cited
from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError, Misconfigured
from bookwise.domain.search import SEARCH_LIMIT_MAX
from bookwise.schemas.answers import AnswerSummary, GroundingReport, Outcome, summarize_answer
from bookwise.schemas.wire import Shape, Similarity
from bookwise.settings import Settings, load_settings

MIN_RELEVANCE_SCORE = 0.3
DEFAULT_BOOK_TITLE = "Physical AI & Robotics"

AskConfidence: TypeAlias = Literal["high", "low", "none"]
AskOutcome: TypeAlias = Outcome | Literal["failed"]


def ask_confidence(scores: Sequence[float], min_relevance: float = MIN_RELEVANCE_SCORE) -> AskConfidence:
    """By the top score alone; a top score of 0 says as little as no result at all."""
    top = max(scores, default=0.0)
    if top <= 0:
        return "none"
    return "high" if top >= min_relevance else "low"


def module_names(book: Book | None) -> frozenset[str]:
    """The names a reader may filter by, of the default book without one; empty when the book lists no modules."""
    if book is not None:
        return frozenset(name for module in book.modules for name in (module.name, *module.aliases))
    # Imported late: its start-up time is not for every question to pay.
    from bookwise.ingestion.discovery.profile import ROBOTICS_MODULES

    return frozenset(name for module in ROBOTICS_MODULES for name in (module.name, *module.aliases))


class Query(Shape):
    """A question of a book; without `for_book` its module must be one of the default book's."""

    text: str
    top_k: int = Field(default=5, ge=1, le=SEARCH_LIMIT_MAX)
    module_filter: str | None = None

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty or blank")
        return text

    @field_validator("module_filter")
    @classmethod
    def _is_a_module(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is None:
            return None
        allowed = module_names(info.context["book"] if info.context else None)
        if allowed and name not in allowed:
            raise ValueError(f"must be one of {', '.join(sorted(allowed))}")
        return name

    @classmethod
    def for_book(cls, book: Book, **fields: Any) -> Self:
        """A query whose module must be one of this book's; a book that lists none takes any name."""
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


class SearchResult(Shape):
    """A retrieved chunk."""

    text: str
    score: Similarity
    page_title: str
    page_url: str
    module_name: str
    chunk_index: int = Field(ge=0)

    @classmethod
    def of(cls, passage: Passage) -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            text=chunk.text,
            score=passage.score,
            page_title=where.page_title,
            page_url=where.url,
            module_name=where.module,
            chunk_index=chunk.index,
        )


def _is_relevant(known: dict[str, Any]) -> bool:
    chunks: Sequence[SearchResult] = known.get("chunks", ())
    return bool(chunks) and chunks[0].score >= known.get("min_relevance_score", MIN_RELEVANCE_SCORE)


class RetrievalContext(Shape):
    """What was retrieved for a query, best first."""

    query: str
    chunks: tuple[SearchResult, ...]
    total_found: int = Field(ge=0)
    query_time_ms: float = Field(ge=0)
    min_relevance_score: Similarity = MIN_RELEVANCE_SCORE
    has_relevant_results: bool = Field(default_factory=_is_relevant)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        scores = [chunk.score for chunk in self.chunks]
        if scores != sorted(scores, reverse=True):
            raise ValueError("chunks must be ordered by score")
        if self.total_found < len(self.chunks):
            raise ValueError("total_found must count at least the chunks")
        if self.has_relevant_results != _is_relevant(dict(self)):
            raise ValueError("has_relevant_results must follow from the first chunk's score")
        return self

    @classmethod
    def of(cls, evidence: Evidence, *, min_relevance: float = MIN_RELEVANCE_SCORE) -> Self:
        best_first = sorted(evidence.passages, key=lambda passage: -passage.score)
        return cls(
            query=evidence.question,
            chunks=tuple(SearchResult.of(passage) for passage in best_first),
            total_found=len(best_first),
            query_time_ms=evidence.timings.total_ms if evidence.timings else 0.0,
            min_relevance_score=min_relevance,
        )


def build_prompt(context: RetrievalContext, book_title: str = DEFAULT_BOOK_TITLE) -> str:
    """The numbered chunks and the question, under the rules for answering."""
    chunks_text = "\n\n".join(
        f"[{number}] {chunk.page_title}\n{chunk.text}" for number, chunk in enumerate(context.chunks, 1)
    )
    return f"""
You are an expert assistant for the {book_title} book.

RULES:
1. ONLY answer using the CONTEXT provided below
2. If the answer is not in the CONTEXT, say "I couldn't find that information in the book"
3. ALWAYS cite your sources using [Source: Page Title] format
4. Be concise and accurate

CONTEXT:
{chunks_text}

USER QUESTION: {context.query}
"""


class Citation(Shape):
    """A source the answer uses."""

    page_title: str
    page_url: str | None = None
    module_name: str
    number: int | None = Field(default=None, ge=1, description="The [n] in the answer.")
    quote: str = Field(default="", description="The words of the source that carry the answer.")
    section: str | None = None

    @classmethod
    def of(cls, cited: Cited) -> Self:
        where = cited.passage.chunk.locator
        return cls(
            page_title=where.page_title,
            page_url=where.url or None,
            module_name=where.module,
            number=cited.number,
            quote=cited.quote,
            section=where.section_title,
        )


class AgentResponse(Shape):
    """The whole answer. A refusal is an answer and no error; a blocked message and a cut-off answer are errors."""

    answer: str
    citations: tuple[Citation, ...]
    query: str
    retrieval_time_ms: float = Field(ge=0)
    generation_time_ms: float = Field(ge=0)
    total_time_ms: float = Field(ge=0)
    confidence: AskConfidence
    error: str | None = None
    outcome: AskOutcome = "answered"
    reason: str | None = Field(default=None, description="Why it was refused, blocked or cut off.")
    confidence_level: Level | None = None
    grounding: GroundingReport | None = None
    degraded: str | None = None
    truncated: bool = False
    disclaimer: str | None = None
    sources: tuple[SearchResult, ...] = Field(
        default=(), description="What the confidence is measured on, cited or not."
    )

    @classmethod
    def of(cls, answer: Answer, *, query: str, min_relevance: float = MIN_RELEVANCE_SCORE) -> Self:
        told = summarize_answer(answer)
        return cls(
            answer=told.text,
            citations=tuple(Citation.of(citation) for citation in told.citations),
            query=query,
            retrieval_time_ms=told.meta.retrieval_ms,
            generation_time_ms=told.meta.generation_ms,
            total_time_ms=told.meta.total_ms,
            confidence=ask_confidence([passage.score for passage in told.passages], min_relevance),
            error=_error(told),
            outcome=told.outcome,
            reason=told.reason,
            confidence_level=told.confidence.level,
            grounding=told.grounding,
            degraded=told.meta.degraded,
            truncated=told.meta.truncated,
            disclaimer=told.disclaimer,
            sources=tuple(SearchResult.of(passage) for passage in told.passages),
        )

    @classmethod
    def failed(cls, error: BookwiseError, *, query: str, total_ms: float = 0.0) -> Self:
        """What a caller gets who wants a response even when there is no answer."""
        return cls(
            answer="",
            citations=(),
            query=query,
            retrieval_time_ms=0.0,
            generation_time_ms=0.0,
            total_time_ms=total_ms,
            confidence="none",
            error=f"{error.message} {error.advice}".strip(),
            outcome="failed",
            reason=error.code,
        )


def _error(told: AnswerSummary) -> str | None:
    if told.outcome == "blocked":
        return f"The message was not answered: {told.reason}."
    return f"The answer was cut off: {told.reason}." if told.outcome == "interrupted" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """How `ask()` answers. Without a key it quotes the book instead of asking a model."""

    model: str = "gpt-4o-mini"
    temperature: float = 0.1
    top_k: int = 5
    min_relevance_score: float = MIN_RELEVANCE_SCORE
    openai_api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise Misconfigured("The model has no name.", advice="Set OPENAI_MODEL.")
        if not 0.0 <= self.temperature <= 1.0:
            raise Misconfigured(f"temperature is {self.temperature}; it must be between 0 and 1.")
        if not 1 <= self.top_k <= SEARCH_LIMIT_MAX:
            raise Misconfigured(f"top_k is {self.top_k}; it must be between 1 and {SEARCH_LIMIT_MAX}.")
        if not 0.0 <= self.min_relevance_score <= 1.0:
            raise Misconfigured(f"min_relevance_score is {self.min_relevance_score}; it must be between 0 and 1.")

    @classmethod
    def of(cls, settings: Settings) -> Self:
        key = settings.openai_api_key
        return cls(
            model=settings.openai_model,
            top_k=settings.agent_top_k,
            min_relevance_score=settings.min_relevance_score,
            openai_api_key=key.get_secret_value() if key else None,
        )

    @classmethod
    def from_env(cls) -> Self:
        return cls.of(load_settings())
