"""Question, evidence, answer: what road two turns into what."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bookwise.domain.books import Chunk
from bookwise.domain.errors import InvalidInput
from bookwise.domain.search import SEARCH_LIMIT_MAX, Timings

EngineName: TypeAlias = Literal["extractive", "direct", "agent"]
Level: TypeAlias = Literal["high", "medium", "low", "insufficient"]
State: TypeAlias = Literal["PENDING", "RETRIEVING", "GENERATING", "COMPLETED", "NO_RESULTS", "LOW_CONF", "ERROR"]
RefusalReason: TypeAlias = Literal["nothing-found", "not-in-the-book", "ambiguous", "small-talk"]

QUESTION_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that exists is valid."""

    text: str
    book_id: str
    module: str | None = None
    hardware_tier: int = 4
    top_k: int = 5
    threshold: float = 0.0  #: least similarity of a passage
    engine: EngineName | None = None  #: None: the configured one

    def __post_init__(self) -> None:
        length = len(self.text.strip())
        if length == 0:
            raise InvalidInput("The question is empty.", advice="Ask something about the book.")
        if length > QUESTION_MAX:
            raise InvalidInput(
                f"The question has {length:,} characters; at most {QUESTION_MAX:,} are read.", advice="Shorten it."
            )
        if not 1 <= self.top_k <= SEARCH_LIMIT_MAX:
            raise InvalidInput(f"top_k is {self.top_k}; it must be between 1 and {SEARCH_LIMIT_MAX}.")
        if not 0.0 <= self.threshold <= 1.0:
            raise InvalidInput(f"The similarity threshold is {self.threshold}; it must be between 0 and 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What is read: a found chunk with the number an answer cites it by."""

    number: int  #: from 1, unique within one answer
    chunk: Chunk
    score: float
    cosine: float = 0.0
    lexical: float = 0.0
    strength: float = 0.0  #: of the match, by which the passages of one question differ most


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure the book makes us; `answering.confidence` makes it."""

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

    question: str  #: as it was searched for: a follow-up in its stand-alone form
    passages: tuple[Passage, ...]
    confidence: Confidence
    timings: Timings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place in an answer tied to a passage and the words of it that carry the answer."""

    number: int  #: the [n] in the text
    passage: Passage
    quote: str  #: found in the passage, letter for letter


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """How much of an answer its passages carry."""

    supported: float  #: share of the sentences that claim something, 0–1; 1 when none does
    unsupported: tuple[str, ...] = ()
    unsupported_citations: int = 0  #: citations of passages that were not retrieved; removed from the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a model was asked for; zero without one."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMeta:
    """How an answer came about."""

    engine: EngineName
    model: str = ""
    degraded: str | None = None  #: why the configured engine could not answer, as a stable slug
    truncated: bool = False
    usage: Usage = field(default_factory=Usage)
    retrieval_ms: float = 0.0
    generation_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The book says so, there."""

    text: str  #: Markdown with [n]
    citations: tuple[Citation, ...]  #: never empty
    evidence: Evidence
    grounding: Grounding
    disclaimer: str | None
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The book has no answer, the question is not one, or it fits several places equally well."""

    text: str
    reason: RefusalReason
    evidence: Evidence
    nearest: tuple[Passage, ...]  #: the closest lessons, without a claim that they answer
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The message tries to give orders instead of asking."""

    text: str
    reason: str
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """An answer that was cut off; `text` is what the reader saw of it."""

    text: str
    reason: str  #: a stable slug
    evidence: Evidence | None
    meta: AnswerMeta


Answer: TypeAlias = Answered | Refused | Blocked | Interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged:
    """The answer has reached this state."""

    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStarted:
    """The book is being searched, by us or by the agent's tool."""

    query: str
    top_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFound:
    """What the search brought."""

    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next piece of the answer's text. All pieces joined are the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """Always the last event."""

    answer: Answer


AnswerEvent: TypeAlias = StateChanged | SearchStarted | EvidenceFound | TextDelta | AnswerFinished
