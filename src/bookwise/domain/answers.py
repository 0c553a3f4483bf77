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
class CurrentLesson:
    """The lesson that the reader has open or chose."""

    id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about one book. The constructor raises `InvalidInput`, so an instance is always valid."""

    text: str
    book_id: str
    module: str | None = None
    chapter: int | None = None
    hardware_tier: int = 4
    proficiency_level: str | None = None
    top_k: int = 5
    threshold: float = 0.0  #: minimum similarity of a passage
    engine: EngineName | None = None  #: None: the configured one
    lesson: CurrentLesson | None = None  #: open or chosen; searched before the rest of the book

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
    """A chunk that was found for a question, with its number."""

    number: int  #: from 1, among the passages found; of a cited passage, the [n] in the answer
    chunk: Chunk
    score: float
    cosine: float = 0.0
    lexical: float = 0.0
    strength: float = 0.0  #: match strength before calibration; separates passages better than `score`
    section_text: str = field(
        default="", repr=False
    )  #: of its section, where a language model reads more than the chunk

    @property
    def text(self) -> str:
        """What an engine reads of this passage."""
        return self.section_text or self.chunk.text


#: (level, least probability that an answer is useful); the first match counts. Of the answers with `high`, nine in ten
#: are useful, of those with `medium` seven in ten (docs/answers.md, Confidence).
USEFULNESS_LEVELS: tuple[tuple[Level, float], ...] = (("high", 0.83), ("medium", 0.7), ("low", 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure an answer is: the similarities of its passages, and how likely it is to be useful."""

    average: float
    minimum: float
    maximum: float
    count: int
    diversity: float  #: 1 − mean pairwise cosine of the passages
    similarity_level: Level  #: by average and count; `insufficient`: the question is refused
    usefulness: float = 0.0  #: estimated probability that the answer is useful; 0 without an answer

    @property
    def should_answer(self) -> bool:
        return self.similarity_level != "insufficient"

    @property
    def level(self) -> Level:
        """The level that readers see: how likely the answer is to be useful."""
        return usefulness_level(self.usefulness) if self.should_answer else "insufficient"


def usefulness_level(probability: float) -> Level:
    """Returns the level of an answer that is useful with this probability."""
    return next(level for level, least in USEFULNESS_LEVELS if probability >= least)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSection:
    """A section of the book, named by its best passage."""

    passage: Passage
    score: float  #: how well it answers, compared with the other sections of the same question
    sentence: str  #: the one that holds most of the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The passages given to one answer."""

    question: str  #: the question as searched: for a follow-up, its stand-alone form
    passages: tuple[Passage, ...]
    confidence: Confidence
    sections: tuple[RankedSection, ...] = ()  #: the sections of the passages, best first; empty for a refusal
    timings: Timings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A citation in an answer: the passage and the quoted words that support the answer."""

    number: int  #: the [n] in the text: 1, 2, 3 … in the order of the text
    passage: Passage  #: with the same number
    quote: str  #: a verbatim part of the passage


@dataclass(frozen=True, slots=True)
class Highlight:
    """A part of a text that answers the question: the characters from `start` up to, but not including, `end`."""

    start: int
    end: int

    def moved(self, by: int) -> "Highlight":
        """The same characters, in a text that has `by` more characters before them."""
        return Highlight(self.start + by, self.end + by)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedSection:
    """A section about the question that the answer does not show."""

    passage: Passage  #: one of its passages
    line: str  #: the sentence that holds most of the question, as plain text on one line


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
    highlights: tuple[Highlight, ...] = ()  #: in `text`, in order; only of an engine that quotes
    related: tuple[RelatedSection, ...] = ()  #: best first; only of an engine that quotes


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
    citations: tuple[Citation, ...] = ()  #: of the part that the reader received


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
    highlights: tuple[Highlight, ...] = ()  #: in this part


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """The last event of every answer."""

    answer: Answer


AnswerEvent: TypeAlias = StateChanged | SearchStarted | EvidenceFound | TextDelta | AnswerFinished
