"""The ports: what ingestion, retrieval, answering and the service need from databases, indexes and models.

The docstring of a port is its contract. The suites in tests/contracts check every backend against it.
"""

from bookwise.ports.answers import Answerer, AnswerTask, ModelStatus, ReadSection, Retrieve, Rewriter, Written
from bookwise.ports.books import Catalog, CatalogReader, Embedder, LessonIndex, Reranker, VectorCache
from bookwise.ports.jobs import JobQueue, JobStore
from bookwise.ports.service import (
    DeliveryStore,
    Journal,
    KeptResponse,
    KeyChanges,
    KeyStore,
    RateLimits,
    ResponseStore,
    ThreadStore,
    ValidationStore,
)

__all__ = [
    "AnswerTask",
    "Answerer",
    "Catalog",
    "CatalogReader",
    "DeliveryStore",
    "Embedder",
    "JobQueue",
    "JobStore",
    "Journal",
    "KeptResponse",
    "KeyChanges",
    "KeyStore",
    "LessonIndex",
    "ModelStatus",
    "RateLimits",
    "ReadSection",
    "Reranker",
    "ResponseStore",
    "Retrieve",
    "Rewriter",
    "ThreadStore",
    "ValidationStore",
    "VectorCache",
    "Written",
]
