"""Question, evidence, answer, and the events of an answer."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bookwise.domain.books import Chunk
from bookwise.domain.errors import InvalidInput
from bookwise.domain.search import SEARCH_LIMIT_MAX, Timings

EngineName: TypeAlias = Literal["extractive", "direct", "agent"]
Level: TypeAlias = Literal["high", "medium", "low", "insufficient"]
State: TypeAlias = Literal["PENDING", "RETRIEVING", "GENERATING", "COMPLETED", "NO_RESULTS", "LOW_CONF", "ERROR"]
RefusalReason: TypeAlias = Literal["nothing-found", "not-in-the-book", "ambiguous", "small-talk", "other-language"]

QUESTION_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about one book. The constructor raises `InvalidInput`, so an instance is always valid."""

    text: str
    book_id: str
    module: str | None = None
    hardware_tier: int = 4
    top_k: int = 5
    threshold: float = 0.0  #: minimum similarity of a passage
    engine: EngineName | None = None  #: None: the configured one

    def __post_init__(self) -> None:
        length = len(self.text.strip())
        if length == 0:
            raise InvalidInput("The question is empty.", advice="Ask something about the book.")
        if length > QUESTION_MAX:
            raise InvalidInput(
                f"The question has {length:,} characters; the limit is {QUESTION_MAX:,}.", advice="Shorten it."
            )
        if not 1 <= self.top_k <= SEARCH_LIMIT_MAX:
            raise InvalidInput(f"top_k is {self.top_k}; it must be between 1 and {SEARCH_LIMIT_MAX}.")
        if not 0.0 <= self.threshold <= 1.0:
            raise InvalidInput(f"The similarity threshold is {self.threshold}; it must be between 0 and 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk that was found for a question, with the number that answers cite."""

    number: int  #: from 1, unique within one answer
    chunk: Chunk
    score: float
    cosine: float = 0.0
    lexical: float = 0.0
    strength: float = 0.0  #: match strength before calibration; separates passages better than `score`


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How well the passages support an answer; computed by `answering.evidence.confidence`."""

    average: float
    minimum: float
    maximum: float
    count: int
    diversity: float  #: 1 − mean pairwise cosine of the passages
    level: Level

    @property
    def should_answer(self) -> bool:
        return self.level != "insufficient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The passages given to one answer."""

    question: str  #: the question as searched: for a follow-up, its stand-alone form
    passages: tuple[Passage, ...]
    confidence: Confidence
    timings: Timings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A citation in an answer: the passage and the quoted words that support the answer."""

    number: int  #: the [n] in the text
    passage: Passage
    quote: str  #: a verbatim part of the passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """How much of an answer is supported by its passages."""

    supported: float  #: share of the sentences with a claim, 0–1; 1 when there are none
    unsupported: tuple[str, ...] = ()
    unsupported_citations: int = 0  #: citations of passages that were not retrieved; removed from the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and calls of a language model; zero without one."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMeta:
    """How an answer was produced: engine, model, usage, timings."""

    engine: EngineName
    model: str = ""
    degraded: str | None = None  #: stable slug: why the configured engine could not answer
    truncated: bool = False
    usage: Usage = field(default_factory=Usage)
    retrieval_ms: float = 0.0
    generation_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer from the book, with citations."""

    text: str  #: Markdown with [n]
    citations: tuple[Citation, ...]  #: never empty
    evidence: Evidence
    grounding: Grounding
    disclaimer: str | None
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No answer: the book has none or several that fit, or the message is no question or in another language."""

    text: str
    reason: RefusalReason
    evidence: Evidence
    nearest: tuple[Passage, ...]  #: the closest passages; they may not answer the question
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The message was blocked: it tries to give instructions to the model."""

    text: str
    reason: str
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """An answer that was cut off. `text` is the part the reader received."""

    text: str
    reason: str  #: a stable slug
    evidence: Evidence | None
    meta: AnswerMeta


Answer: TypeAlias = Answered | Refused | Blocked | Interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged:
    """The answer entered this state."""

    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStarted:
    """A search of the book started, by Bookwise or by the agent's tool."""

    query: str
    top_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFound:
    """The passages that the search found."""

    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next part of the answer's text. All deltas joined are the full text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """The last event of every answer."""

    answer: Answer


AnswerEvent: TypeAlias = StateChanged | SearchStarted | EvidenceFound | TextDelta | AnswerFinished
