"""Public JSON objects of a retrieval: the chunks found and the confidence in them."""

from typing import Any, Self

from pydantic import Field, model_validator

from bookwise.answering.evidence.confidence import has_sufficient_context, level_of, mean
from bookwise.domain.answers import Confidence, Evidence, Level, Passage
from bookwise.domain.books import Vector
from bookwise.schemas import locations
from bookwise.schemas.wire import Shape, Similarity, examples

TOP_K_MAX = 10
EMBEDDING_DIMENSIONS = 1536
MEAN_TOLERANCE = 1e-6


METRICS_EXAMPLE: dict[str, Any] = {
    "average_similarity": 0.84,
    "min_similarity": 0.79,
    "max_similarity": 0.9,
    "num_chunks": 3,
    "chunk_diversity": 0.4,
    "confidence_level": "medium",
    "should_answer": True,
}


class ConfidenceMetrics(Shape):
    """Figures of the retrieved passages. Level and decision must follow from the confidence rules."""

    model_config = examples(METRICS_EXAMPLE)

    average_similarity: Similarity
    min_similarity: Similarity
    max_similarity: Similarity
    num_chunks: int = Field(ge=0)
    chunk_diversity: Similarity
    confidence_level: Level
    should_answer: bool

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if not self.min_similarity <= self.average_similarity <= self.max_similarity:
            raise ValueError("average_similarity must be between min_similarity and max_similarity")
        level = level_of(self.average_similarity, self.num_chunks)
        only = level_of(self.average_similarity, self.num_chunks, is_only=True)
        if self.confidence_level not in (level, only):
            raise ValueError(f"confidence_level must be {level!r} for this average and number of chunks")
        require_decision(self.should_answer, self.confidence_level)
        return self

    @classmethod
    def of(cls, confidence: Confidence) -> Self:
        return cls(
            average_similarity=confidence.average,
            min_similarity=confidence.minimum,
            max_similarity=confidence.maximum,
            num_chunks=confidence.count,
            chunk_diversity=confidence.diversity,
            confidence_level=confidence.similarity_level,
            should_answer=confidence.should_answer,
        )


def require_decision(should_answer: bool, level: Level) -> None:
    """Raises unless `should_answer` is true at every level but `insufficient`."""
    if should_answer != (level != "insufficient"):
        raise ValueError(f"should_answer must be {level != 'insufficient'} at the level {level!r}")


class ChunkMetadata(Shape):
    """The place of a retrieved chunk in the book."""

    chapter: str
    section: str
    url: str
    chunk_index: int = Field(ge=0)
    content_hash: str = Field(min_length=1)

    @classmethod
    def of(cls, passage: Passage) -> Self:
        chunk, where = passage.chunk, passage.chunk.locator
        return cls(
            chapter=locations.chapter(where),
            section=locations.section(where),
            url=where.url,
            chunk_index=chunk.index,
            content_hash=chunk.content_hash,
        )


class RetrievalReport(Shape):
    """The chunks retrieved for a question, and the query vector."""

    chunks: tuple[str, ...] = Field(max_length=TOP_K_MAX)
    scores: tuple[Similarity, ...]
    metadata: tuple[ChunkMetadata, ...]
    average_score: Similarity
    has_sufficient_context: bool
    query_embedding: tuple[float, ...]
    embedding_dimensions: int = Field(default=EMBEDDING_DIMENSIONS, ge=1, description="Vector size of the embedder.")

    @model_validator(mode="after")
    def _check_sums(self) -> Self:
        if not len(self.chunks) == len(self.scores) == len(self.metadata):
            raise ValueError("chunks, scores and metadata must have the same length")
        if abs(self.average_score - mean(self.scores)) > MEAN_TOLERANCE:
            raise ValueError("average_score must be the mean of the scores")
        if self.has_sufficient_context != has_sufficient_context(self.average_score, len(self.chunks)):
            raise ValueError("has_sufficient_context must follow from the average and the number of chunks")
        if len(self.query_embedding) != self.embedding_dimensions:
            raise ValueError(f"query_embedding must have {self.embedding_dimensions} dimensions")
        return self

    @classmethod
    def of(cls, evidence: Evidence, *, query_embedding: Vector) -> Self:
        """The best ten passages. An agent that searches several times can find more."""
        best = sorted(evidence.passages, key=lambda passage: -passage.score)[:TOP_K_MAX]
        scores = tuple(passage.score for passage in best)
        return cls(
            chunks=tuple(passage.chunk.text for passage in best),
            scores=scores,
            metadata=tuple(ChunkMetadata.of(passage) for passage in best),
            average_score=mean(scores),
            has_sufficient_context=has_sufficient_context(mean(scores), len(scores)),
            query_embedding=query_embedding,
            embedding_dimensions=len(query_embedding),
        )
