"""Public JSON objects of the chat API: request, response, source, session."""

import json
from datetime import datetime
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StringConstraints,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from bookwise.domain.answers import QUESTION_MAX, Answer, EngineName, Level, Passage, Question, usefulness_level
from bookwise.domain.books import HARDWARE_TIERS
from bookwise.schemas import locations
from bookwise.schemas.answers import GroundingReport, HighlightRange, Outcome, RelatedLink, summarize_answer
from bookwise.schemas.books import HardwareTier, ProficiencyLevel
from bookwise.schemas.retrieval import (
    METRICS_EXAMPLE,
    TOP_K_MAX,
    ChunkMetadata,
    ConfidenceMetrics,
    RetrievalReport,
    require_decision,
)
from bookwise.schemas.search import NUMBER_MAX
from bookwise.schemas.wire import (
    EXAMPLE_ANSWER_ID,
    EXAMPLE_SESSION_ID,
    EXAMPLE_TIME,
    UUID4,
    SessionId,
    Shape,
    Similarity,
    Timestamp,
    examples,
    iso,
    new_id,
    now,
)
from bookwise.text.shorten import shortened

DISPLAY_MAX = 500
METADATA_MAX = 4_000
PAGE_URL_MAX = 2_000

__all__ = [
    "ChatRequest",
    "ChatResponse",
    "ChunkMetadata",
    "ConfidenceMetrics",
    "RetrievalReport",
    "Source",
]

OptionalSessionId: TypeAlias = Annotated[SessionId, WithJsonSchema({"anyOf": [UUID4, {"type": "null"}]})]


def _small_object(value: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(value))
    except RecursionError:
        raise ValueError("has too many levels") from None
    if size > METADATA_MAX:
        raise ValueError(f"must have at most {METADATA_MAX:,} characters as JSON; it has {size:,}")
    return value


ThreadMetadata: TypeAlias = Annotated[dict[str, Any], AfterValidator(_small_object)]
MessageText: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUESTION_MAX)]


class ChatRequest(Shape):
    """A question."""

    model_config = examples(
        {"message": "How do ROS 2 nodes communicate?"},
        {"message": "And how do I start one?", "session_id": EXAMPLE_SESSION_ID},
    )

    message: MessageText
    session_id: OptionalSessionId = Field(default_factory=new_id)
    stream: StrictBool = False
    top_k: int = Field(default=5, ge=1, le=TOP_K_MAX, strict=True)
    similarity_threshold: Similarity | None = Field(
        default=None,
        strict=True,
        description="Ignore passages below this calibrated similarity. Default: decide as `bookwise ask` does.",
    )
    book_id: str | None = Field(default=None, description="Default: the session's book, or the only or default book.")
    engine: EngineName | None = Field(default=None, description="Default: the configured engine.")
    page_url: str | None = Field(
        default=None,
        max_length=PAGE_URL_MAX,
        description="The page that the reader has open. A question about `this page` or `this lesson` is answered from "
        "the lesson with this URL first. Hosts are not compared.",
    )
    parent_doc_id: str | None = Field(
        default=None,
        max_length=200,
        description="The lesson that the question is about: `parent_doc_id` of a passage in `nearest`, if the answer "
        "was a question back (`reason` is `ambiguous`). It is searched first, then the rest of the book.",
    )
    metadata: ThreadMetadata | None = Field(
        default=None, description=f"Stored with a new session, at most {METADATA_MAX:,} characters of JSON."
    )
    html: StrictBool = Field(default=False, description="Also return the answer as safe HTML.")
    module: str | None = Field(default=None, max_length=200, description="Answer only from this module of the book.")
    chapter: int | None = Field(default=None, ge=0, le=NUMBER_MAX, strict=True, description="Only from this chapter.")
    hardware_tier: HardwareTier | None = Field(default=None, description="Only from lessons of this tier or lower.")
    proficiency_level: ProficiencyLevel | None = Field(default=None, description="Only from lessons of this level.")

    @field_validator("session_id", mode="before")
    @classmethod
    def _new_session_for_null(cls, value: Any) -> Any:
        return new_id() if value is None else value

    def question(self, default_book_id: str, *, default_threshold: float = 0.0, default_top_k: int = 5) -> Question:
        """The question; the defaults apply where the request names no value, `default_top_k` up to this limit."""
        threshold = self.similarity_threshold
        return Question(
            text=self.message,
            book_id=self.book_id or default_book_id,
            top_k=self.top_k if "top_k" in self.model_fields_set else min(default_top_k, TOP_K_MAX),
            threshold=default_threshold if threshold is None else threshold,
            engine=self.engine,
            module=self.module,
            chapter=self.chapter,
            hardware_tier=self.hardware_tier or HARDWARE_TIERS[-1],
            proficiency_level=self.proficiency_level,
        )


SOURCE_EXAMPLE: dict[str, Any] = {
    "chunk_text": "A node is a process that performs computation. Nodes communicate over topics.",
    "similarity_score": 0.84,
    "chapter": "ROS 2",
    "section": "What a node is",
    "url": "https://book.example/ros2/nodes#what-a-node-is",
    "chunk_index": 0,
    "number": 1,
    "chunk_id": "5b0b4b0e-93e1-5a2c-8f0e-3c1d2b7a9e10",
    "parent_doc_id": "ros2-nodes",
    "quote": "A node is a process that performs computation.",
    "page_title": "Nodes",
    "cosine": 0.61,
}


class Source(Shape):
    """A passage of the book."""

    model_config = examples(SOURCE_EXAMPLE)

    chunk_text: str = Field(max_length=DISPLAY_MAX)
    similarity_score: Similarity
    chapter: str
    section: str
    url: str
    chunk_index: int = Field(ge=0)
    number: int | None = Field(
        default=None,
        ge=1,
        description="The [n] that cites it in the answer; in the event `retrieval`, its number among those found.",
    )
    chunk_id: str = ""
    parent_doc_id: str = Field(default="", description="The id of its lesson.")
    quote: str = Field(default="", description="The words of the passage that support the answer.")
    page_title: str = ""
    cosine: float | None = Field(default=None, ge=-1.001, le=1.001)

    @classmethod
    def of(cls, passage: Passage, *, quote: str = "") -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            chunk_text=shortened(chunk.text, DISPLAY_MAX),
            similarity_score=passage.score,
            chapter=locations.chapter(where),
            section=locations.section(where),
            url=where.url,
            chunk_index=chunk.index,
            number=passage.number,
            chunk_id=chunk.id,
            parent_doc_id=chunk.lesson_id,
            quote=quote,
            page_title=where.page_title,
            cosine=passage.cosine,
        )


def _default_outcome(fields: dict[str, Any]) -> Outcome:
    return "answered" if fields.get("should_answer") else "refused"


ANSWER_EXAMPLE: dict[str, Any] = {
    "response": "A node is a process that performs computation. [1]",
    "confidence": 0.91,
    "sources": [SOURCE_EXAMPLE],
    "session_id": EXAMPLE_SESSION_ID,
    "timestamp": EXAMPLE_TIME,
    "confidence_level": "high",
    "should_answer": True,
    "outcome": "answered",
    "reason": None,
    "metrics": METRICS_EXAMPLE,
    "grounding": {"supported": 1.0, "unsupported": [], "unsupported_citations": 0},
    "disclaimer": None,
    "nearest": [],
    "highlights": [{"start": 0, "end": 46}],
    "related": [
        {
            "title": "Topics › What a topic is",
            "url": "https://book.example/ros2/topics#what-a-topic-is",
            "line": "A topic is a named channel between nodes.",
            "chunk_id": "9c7d3f52-6a6b-5d1e-9a37-0b1f4c2d8e11",
        }
    ],
    "degraded": None,
    "truncated": False,
    "answer_id": EXAMPLE_ANSWER_ID,
}


class ChatResponse(Shape):
    """An answer or a refusal. Outcome, decision, confidence and sources always agree."""

    model_config = examples(ANSWER_EXAMPLE)

    response: Annotated[str, Field(pattern=r"\S")]
    confidence: Similarity = Field(description="Estimated probability that the answer is useful; 0 without an answer.")
    sources: tuple[Source, ...]
    session_id: SessionId
    timestamp: Timestamp = Field(default_factory=lambda: iso(now()))
    confidence_level: Level = Field(description="The level of `confidence`; `metrics` has the level by similarity.")
    should_answer: bool = Field(description="True exactly when `outcome` is `answered`.")
    outcome: Outcome = Field(default_factory=_default_outcome)
    reason: str | None = Field(default=None, description="Why the question was refused, blocked or cut off.")
    metrics: ConfidenceMetrics | None = Field(default=None, description="Figures of the retrieved passages.")
    grounding: GroundingReport | None = None
    disclaimer: str | None = None
    nearest: tuple[Source, ...] = Field(default=(), description="The closest passages to a refused question.")
    highlights: tuple[HighlightRange, ...] = Field(
        default=(), description="The parts of `response` that answer the question, in order. Only of quoted answers."
    )
    related: tuple[RelatedLink, ...] = Field(
        default=(), description="At most three other sections, best first. Only of quoted answers."
    )
    degraded: str | None = Field(default=None, description="Why the configured engine could not answer.")
    truncated: bool = False
    answer_id: str | None = Field(default=None, description="Pass it to POST /feedback to rate the answer.")
    html: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The answer as safe HTML, if the request asked for it: `<mark>` around the highlights, "
        '`<sup data-cite="1">1</sup>` for `[1]`.',
    )

    @model_validator(mode="after")
    def _check_decision(self) -> Self:
        require_decision(self.should_answer, self.confidence_level)
        level = usefulness_level(self.confidence) if self.should_answer else "insufficient"
        if self.confidence_level != level:
            raise ValueError(f"confidence_level must be {level!r} at a confidence of {self.confidence}")
        if (self.outcome == "answered") != self.should_answer:
            raise ValueError(f"should_answer cannot be {self.should_answer} when the outcome is {self.outcome!r}")
        if self.outcome == "answered" and not self.sources:
            raise ValueError("an answer must have sources")
        if self.outcome in ("refused", "blocked") and self.sources:
            raise ValueError(f"a response that is {self.outcome} has no sources")
        return self

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        """An answer needs passages that suffice."""
        if self.outcome == "answered" and self.metrics is not None and not self.metrics.should_answer:
            raise ValueError("the metrics do not allow an answer")
        return self

    @classmethod
    def of(cls, answer: Answer, *, session_id: str, answer_id: str | None = None, at: datetime | None = None) -> Self:
        summary = summarize_answer(answer)
        confidence = summary.confidence
        return cls(
            response=summary.text,
            confidence=confidence.usefulness,
            sources=tuple(Source.of(c.passage, quote=c.quote) for c in summary.citations),
            session_id=session_id,
            timestamp=iso(at or now()),
            confidence_level=confidence.level,
            should_answer=confidence.should_answer,
            outcome=summary.outcome,
            reason=summary.reason,
            metrics=ConfidenceMetrics.of(summary.retrieval_confidence),
            grounding=summary.grounding,
            disclaimer=summary.disclaimer,
            nearest=tuple(Source.of(passage) for passage in summary.nearest),
            highlights=tuple(map(HighlightRange.of, summary.highlights)),
            related=tuple(map(RelatedLink.of, summary.related)),
            degraded=summary.meta.degraded,
            truncated=summary.meta.truncated,
            answer_id=answer_id,
        )
