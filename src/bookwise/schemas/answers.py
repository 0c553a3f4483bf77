"""Answer → AnswerSummary: the one description of an answer that every interface translates from."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, assert_never

from pydantic import Field

from bookwise.answering.messages import title
from bookwise.domain.answers import (
    Answer,
    Answered,
    AnswerMeta,
    Blocked,
    Citation,
    Confidence,
    Evidence,
    Grounding,
    Highlight,
    Interrupted,
    Passage,
    Refused,
    RelatedSection,
)
from bookwise.schemas import locations
from bookwise.schemas.wire import Shape, Similarity

Outcome: TypeAlias = Literal["answered", "refused", "blocked", "interrupted"]

INTERRUPTED_EMPTY = "The answer was cut off before its first word. Ask again."

NO_CONFIDENCE = Confidence(
    average=0.0, minimum=0.0, maximum=0.0, count=0, diversity=0.0, similarity_level="insufficient"
)


class GroundingReport(Shape):
    """How much of the answer its sources support."""

    supported: Similarity
    unsupported: tuple[str, ...] = Field(
        default=(),
        description="The unsupported sentences that `response` shows. Those that were dropped are shown nowhere.",
    )
    unsupported_citations: int = Field(default=0, ge=0)

    @classmethod
    def of(cls, grounding: Grounding, *, text: str) -> Self:
        """The report of an answer with this text."""
        return cls(
            supported=grounding.supported,
            unsupported=tuple(sentence for sentence in grounding.unsupported if sentence in text),
            unsupported_citations=grounding.unsupported_citations,
        )


class HighlightRange(Shape):
    """A part of the answer's text that answers the question, counted in Unicode characters."""

    start: int = Field(ge=0, description="Position of the first character.")
    end: int = Field(ge=1, description="Position after the last character.")

    @classmethod
    def of(cls, highlight: Highlight) -> Self:
        return cls(start=highlight.start, end=highlight.end)


class RelatedLink(Shape):
    """A section about the question that the answer does not show."""

    title: str = Field(description="Lesson › section.")
    url: str = Field(description="The section's URL, or the source file of an unpublished book.")
    line: str = Field(description="The sentence that holds most of the question, shortened, as plain text.")
    chunk_id: str = ""

    @classmethod
    def of(cls, related: RelatedSection) -> Self:
        chunk = related.passage.chunk
        return cls(
            title=title(related.passage), url=locations.address(chunk.locator), line=related.line, chunk_id=chunk.id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSummary:
    """What every kind of answer has in common. Fields that do not apply to a kind are empty."""

    outcome: Outcome
    reason: str | None
    text: str  #: never empty
    meta: AnswerMeta
    evidence: Evidence | None = None
    citations: tuple[Citation, ...] = ()  #: one per number, by number
    nearest: tuple[Passage, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    related: tuple[RelatedSection, ...] = ()
    grounding: GroundingReport | None = None
    disclaimer: str | None = None

    @property
    def confidence(self) -> Confidence:
        """How far to trust this answer. Without an answer there is nothing to trust: even when the passages were good
        enough, a refused, blocked or interrupted answer has no confidence."""
        if self.outcome != "answered" and self.retrieval_confidence.should_answer:
            return NO_CONFIDENCE
        return self.retrieval_confidence

    @property
    def retrieval_confidence(self) -> Confidence:
        """The figures of the retrieved passages, whatever the answer."""
        return self.evidence.confidence if self.evidence else NO_CONFIDENCE

    @property
    def passages(self) -> tuple[Passage, ...]:
        return self.evidence.passages if self.evidence else ()


def summarize_answer(answer: Answer) -> AnswerSummary:
    """Summarizes any kind of answer. This is the only place that distinguishes the kinds."""
    match answer:
        case Answered():
            return AnswerSummary(
                outcome="answered",
                reason=None,
                text=answer.text,
                meta=answer.meta,
                evidence=answer.evidence,
                citations=_one_per_number(answer.citations),
                highlights=answer.highlights,
                related=answer.related,
                grounding=GroundingReport.of(answer.grounding, text=answer.text),
                disclaimer=answer.disclaimer,
            )
        case Refused():
            return AnswerSummary(
                outcome="refused",
                reason=answer.reason,
                text=answer.text,
                meta=answer.meta,
                evidence=answer.evidence,
                nearest=answer.nearest,
            )
        case Blocked():
            return AnswerSummary(outcome="blocked", reason=answer.reason, text=answer.text, meta=answer.meta)
        case Interrupted():
            return AnswerSummary(
                outcome="interrupted",
                reason=answer.reason,
                text=answer.text if answer.text.strip() else INTERRUPTED_EMPTY,
                meta=answer.meta,
                evidence=answer.evidence,
                citations=_one_per_number(answer.citations),
            )
        case _:
            assert_never(answer)


def _one_per_number(citations: tuple[Citation, ...]) -> tuple[Citation, ...]:
    first = {citation.number: citation for citation in reversed(citations)}
    return tuple(first[number] for number in sorted(first))
