"""Questions with their answers → verdicts and figures. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import fmean, median
from typing import Literal, TypeAlias

from bookwise.domain.answers import Answer, Answered, Blocked, Citation, Evidence, Interrupted, Refused
from bookwise.domain.books import Chunk
from bookwise.evaluation.usefulness import Usefulness, usefulness_of
from bookwise.ingestion.discovery.profile import ValidationQuestion

Kind: TypeAlias = Literal["answerable", "follow-up", "off-topic", "near-miss"]
Outcome: TypeAlias = Literal["answered", "refused", "blocked", "interrupted"]

KINDS: tuple[Kind, ...] = ("answerable", "follow-up", "off-topic", "near-miss")
ANSWERED_KINDS: tuple[Kind, ...] = ("answerable", "follow-up")
BINS = 10
_OUTCOMES: Mapping[type[Answer], Outcome] = {
    Answered: "answered",
    Refused: "refused",
    Blocked: "blocked",
    Interrupted: "interrupted",
}


@dataclass(frozen=True, kw_only=True)
class LiveBook:
    """The live chunks of a book during an evaluation."""

    chunks: Mapping[str, Chunk]  #: by id

    @cached_property
    def modules(self) -> dict[str, str]:
        """The module of each lesson, by source file."""
        return {chunk.locator.source_file: chunk.locator.module for chunk in self.chunks.values()}

    @cached_property
    def anchors(self) -> frozenset[tuple[str, str]]:
        """(source file, anchor) of every section."""
        return frozenset((c.locator.source_file, c.locator.anchor) for c in self.chunks.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A question, its answer, and whether the answer is correct."""

    question: ValidationQuestion
    answer: Answer
    module: str  #: of the expected lesson; empty when no lesson is expected or the book does not have it
    lesson_cited: bool  #: a citation points into the expected lesson
    section_cited: bool | None  #: … and to the expected section; None when the question names none
    broken: tuple[str, ...]  #: why citations do not resolve, one line each
    why: str  #: what is wrong; empty when the answer is correct
    usefulness: Usefulness | None  #: None when the question names no facts

    @property
    def right(self) -> bool:
        return not self.why

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES[type(self.answer)]

    @property
    def expects_answer(self) -> bool:
        return self.question.kind in ANSWERED_KINDS

    @property
    def evidence(self) -> Evidence | None:
        return None if isinstance(self.answer, Blocked) else self.answer.evidence

    @property
    def similarity(self) -> float:
        """The average similarity of the passages, which decides between answer and refusal."""
        return 0.0 if self.evidence is None else self.evidence.confidence.average

    @property
    def citations(self) -> tuple[Citation, ...]:
        return self.answer.citations if isinstance(self.answer, Answered) else ()

    @property
    def why_not_useful(self) -> str:
        """What the answer lacks or should not contain; empty when it is useful or the question names no facts."""
        usefulness = self.usefulness
        if usefulness is None or usefulness.useful:
            return ""
        if self.outcome != "answered":
            return f"{_outcome_text(self.answer)}, missing: {_quoted(usefulness.missing)}"
        parts = {"contains": usefulness.unwanted, "missing": usefulness.missing}
        return "; ".join(f"{name}: {_quoted(texts)}" for name, texts in parts.items() if texts)

    @property
    def lesson_found(self) -> bool:
        """Whether a passage comes from the expected lesson, cited or not."""
        passages = self.evidence.passages if self.evidence else ()
        return any(passage.chunk.locator.source_file == self.question.lesson for passage in passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The number of questions asked, and of those answered correctly."""

    name: str
    asked: int
    right: int

    @property
    def share(self) -> float:
        return self.right / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsefulnessTally:
    """The number of questions that name facts, and of their useful and complete answers."""

    name: str
    asked: int
    useful: int
    complete: int

    @property
    def useful_share(self) -> float:
        return self.useful / self.asked if self.asked else 0.0

    @property
    def complete_share(self) -> float:
        return self.complete / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The questions whose average similarity lies in a range."""

    low: float
    high: float
    count: int
    mean: float  #: of their average similarities
    share: float  #: of questions whose passages include the expected lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The verdicts on all questions of one run."""

    book_id: str
    title: str
    engine: str
    verdicts: tuple[Verdict, ...]

    @property
    def total(self) -> Tally:
        return _tally("all", self.verdicts)

    @property
    def accuracy(self) -> float:
        return self.total.share

    @property
    def misses(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.right)

    @property
    def kinds(self) -> tuple[Tally, ...]:
        """One tally per kind of question that was asked."""
        by_kind = [_tally(kind, [v for v in self.verdicts if v.question.kind == kind]) for kind in KINDS]
        return tuple(tally for tally in by_kind if tally.asked)

    @property
    def usefulness(self) -> UsefulnessTally:
        """All questions that name facts."""
        return _usefulness_tally("all", self._with_facts)

    @property
    def types(self) -> tuple[UsefulnessTally, ...]:
        """One tally per type of question that names facts, in the order of their names."""
        verdicts = sorted(self._with_facts, key=_type_of)
        return tuple(_usefulness_tally(name, list(group)) for name, group in groupby(verdicts, key=_type_of))

    @property
    def high(self) -> Tally:
        """The answers with confidence high, and the useful ones. One to a question without answer is not useful."""
        judged = [v for v in self.verdicts if v.usefulness is not None or not v.expects_answer]
        high = [v for v in judged if isinstance(v.answer, Answered) and v.answer.evidence.confidence.level == "high"]
        return Tally(
            name="high", asked=len(high), right=sum(v.usefulness is not None and v.usefulness.useful for v in high)
        )

    @property
    def not_useful(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.why_not_useful)

    @property
    def _with_facts(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.usefulness is not None]

    @property
    def modules(self) -> tuple[Tally, ...]:
        """One tally per module with questions."""
        verdicts = sorted((v for v in self.verdicts if v.module), key=lambda v: v.module)
        return tuple(_tally(name, list(group)) for name, group in groupby(verdicts, key=lambda v: v.module))

    @property
    def citations(self) -> Tally:
        """The number of citations, and of those that resolve."""
        total = sum(len(v.citations) for v in self.verdicts)
        return Tally(name="citations", asked=total, right=total - sum(len(v.broken) for v in self.verdicts))

    @property
    def sections(self) -> Tally:
        """The answered questions that name a section, and those that cite it."""
        named = [v for v in self.verdicts if v.section_cited is not None and v.outcome == "answered"]
        return Tally(name="sections", asked=len(named), right=sum(bool(v.section_cited) for v in named))

    @property
    def grounding(self) -> float | None:
        """The mean share of supported sentences; None without an answer."""
        shares = [v.answer.grounding.supported for v in self.verdicts if isinstance(v.answer, Answered)]
        return fmean(shares) if shares else None

    @property
    def median_ms(self) -> float:
        return median(v.answer.meta.total_ms for v in self.verdicts) if self.verdicts else 0.0

    @property
    def area_under_roc(self) -> float | None:
        """How well the average similarity separates answerable from off-topic questions."""
        return area_under_roc(self.similarities(*ANSWERED_KINDS), self.similarities("off-topic"))

    @property
    def reliability(self) -> tuple[Bin, ...]:
        return reliability((v.similarity, v.expects_answer and v.lesson_found) for v in self.verdicts)

    def similarities(self, *kinds: Kind) -> list[float]:
        return [v.similarity for v in self.verdicts if v.question.kind in kinds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """The shares that an evaluation must reach."""

    correct: float  #: of all questions
    useful: float | None = None  #: of the questions that name facts; None: any

    def met_by(self, run: Evaluation) -> bool:
        return self.correct_met_by(run) and self.useful_met_by(run)

    def correct_met_by(self, run: Evaluation) -> bool:
        return run.accuracy >= self.correct

    def useful_met_by(self, run: Evaluation) -> bool:
        return self.useful is None or run.usefulness.useful_share >= self.useful


def judge(question: ValidationQuestion, answer: Answer, live: LiveBook) -> Verdict:
    """The verdict on one answer."""
    citations = answer.citations if isinstance(answer, Answered) else ()
    inside = [c.passage.chunk.locator for c in citations if c.passage.chunk.locator.source_file == question.lesson]
    broken = tuple(f"[{c.number}] {why}" for c in citations if (why := broken_citation(c, live)))
    return Verdict(
        question=question,
        answer=answer,
        module=live.modules.get(question.lesson or "", ""),
        lesson_cited=bool(inside),
        section_cited=any(question.section in (w.anchor, w.section_title) for w in inside)
        if question.section
        else None,
        broken=broken,
        why=_why_wrong(question, answer, live, cited=bool(inside)) or "; ".join(broken),
        usefulness=usefulness_of(answer, question.contains, question.avoid) if question.contains else None,
    )


def broken_citation(citation: Citation, live: LiveBook) -> str:
    """Why a citation does not resolve; empty when it does."""
    chunk, where = citation.passage.chunk, citation.passage.chunk.locator
    stored = live.chunks.get(chunk.id)
    if not citation.quote.strip() or citation.quote not in chunk.text:
        return "the quote is not in its passage"
    if stored is None:
        return "its passage is not a live chunk"
    if stored.text != chunk.text or stored.locator != where:
        return "its passage differs from the live chunk"
    if not (where.url or where.source_file):
        return "its passage has neither a URL nor a file"
    if where.anchor and (where.source_file, where.anchor) not in live.anchors:
        return f"the lesson has no section #{where.anchor}"
    return ""


def _why_wrong(question: ValidationQuestion, answer: Answer, live: LiveBook, *, cited: bool) -> str:
    if question.kind not in ANSWERED_KINDS:
        return "" if isinstance(answer, Refused | Blocked) else f"{_outcome_text(answer)}, but the book has no answer"
    if question.lesson not in live.modules:
        return f"the book has no lesson {question.lesson}"
    if not isinstance(answer, Answered):
        return f"{_outcome_text(answer)}, but the book has an answer"
    return "" if cited else "answered from another lesson"


def _outcome_text(answer: Answer) -> str:
    outcome = _OUTCOMES[type(answer)]
    return outcome if isinstance(answer, Answered) else f"{outcome} ({answer.reason})"


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _type_of(verdict: Verdict) -> str:
    """The type of the question; its kind when it has none."""
    return verdict.question.type or verdict.question.kind


def _usefulness_tally(name: str, verdicts: Sequence[Verdict]) -> UsefulnessTally:
    judged = [verdict.usefulness for verdict in verdicts if verdict.usefulness is not None]
    return UsefulnessTally(
        name=name,
        asked=len(judged),
        useful=sum(usefulness.useful for usefulness in judged),
        complete=sum(usefulness.complete for usefulness in judged),
    )


def _tally(name: str, verdicts: Sequence[Verdict]) -> Tally:
    return Tally(name=name, asked=len(verdicts), right=sum(v.right for v in verdicts))


def area_under_roc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """The probability that a positive scores higher than a negative; None without one of each."""
    if not positives or not negatives:
        return None
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    return wins / (len(positives) * len(negatives))


def reliability(scored: Iterable[tuple[float, bool]]) -> tuple[Bin, ...]:
    """The non-empty bins, lowest first."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in scored:
        bins[bin_of(score)].append((score, right))
    return tuple(
        Bin(
            low=index / BINS,
            high=(index + 1) / BINS,
            count=len(inside),
            mean=fmean(score for score, _ in inside),
            share=fmean(right for _, right in inside),
        )
        for index, inside in enumerate(bins)
        if inside
    )


def histogram(scores: Iterable[float]) -> list[int]:
    """The number of scores in each tenth of the scale."""
    counts = [0] * BINS
    for score in scores:
        counts[bin_of(score)] += 1
    return counts


def bin_of(score: float) -> int:
    """The tenth of the scale that a score falls into; 1 falls into the last."""
    return min(max(int(score * BINS + 1e-9), 0), BINS - 1)
