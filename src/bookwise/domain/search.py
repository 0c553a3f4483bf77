"""Search queries, filters, candidates and results."""

from dataclasses import dataclass
from typing import NamedTuple

from bookwise.domain.books import HARDWARE_TIERS, LAYERS, PROFICIENCY_LEVELS, Chunk, Vector
from bookwise.domain.errors import InvalidInput

DEFAULT_BOOK_ID = "physical-ai-robotics"
SEARCH_LIMIT_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Restricts a search to some chunks of one book. All fields must match; one of the levels is enough."""

    book_id: str
    hardware_tier: int = 4  #: this tier or lower
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    proficiency_levels: tuple[str, ...] = ()
    layer: str | None = None
    lesson_id: str | None = None

    def __post_init__(self) -> None:
        if not self.book_id:
            raise InvalidInput("A search needs exactly one book.", advice="Pass the id of a book.")
        _require_one_of("hardware_tier", self.hardware_tier, HARDWARE_TIERS)
        for level in self.proficiency_levels:
            _require_one_of("proficiency_levels", level, PROFICIENCY_LEVELS)
        if self.layer is not None:
            _require_one_of("layer", self.layer, LAYERS)
        for name, number in (
            ("chapter_min", self.chapter_min),
            ("chapter_max", self.chapter_max),
            ("lesson", self.lesson),
        ):
            if number is not None and number < 0:
                raise InvalidInput(f"{name} is {number}; it must be 0 or more.")
        if None not in (self.chapter_min, self.chapter_max) and self.chapter_min > self.chapter_max:  # type: ignore[operator]
            raise InvalidInput(f"chapter_min ({self.chapter_min}) is greater than chapter_max ({self.chapter_max}).")


def _require_one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise InvalidInput(f"{name} is {value!r}; allowed: {', '.join(map(str, allowed))}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search in one book. The constructor raises `InvalidInput`, so an instance is always valid."""

    text: str
    filter: Filter
    limit: int = 5

    def __post_init__(self) -> None:
        if len(self.text.strip()) < 3:
            raise InvalidInput("The search text needs at least 3 characters.")
        if not 1 <= self.limit <= SEARCH_LIMIT_MAX:
            raise InvalidInput(f"limit is {self.limit}; it must be between 1 and {SEARCH_LIMIT_MAX}.")


class Candidate(NamedTuple):  # every search creates dozens; a tuple costs a third of a frozen dataclass
    """A chunk that is among the best by cosine or by words, with both scores."""

    ref: int  #: reference in the index; `LessonIndex.read` returns the chunk
    lesson: int  #: the same for all candidates of one revision of one lesson
    cosine: float
    lexical: float  #: 0–1: share of the question's words in this chunk, weighted by rarity


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk with its scores, for one query."""

    chunk: Chunk
    score: float  #: calibrated similarity, 0–1
    cosine: float
    lexical: float
    strength: float = 0.0  #: match strength before calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Duration of one search in milliseconds."""

    embed_ms: float
    index_ms: float
    total_ms: float
    rerank_ms: float = 0.0  #: 0 without a reranker


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The hits of one query, best first."""

    query: SearchQuery
    hits: tuple[Hit, ...]
    candidates: int  #: chunks that the index proposed
    timings: Timings
    vector: Vector = ()  #: embedding of the query
    notes: tuple[str, ...] = ()  #: what did not work as configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The live revisions of a book at one moment."""

    revisions: frozenset[str]
    generation: int  #: grows with every change to the book
