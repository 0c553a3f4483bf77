"""Question + findings → decision: answer it, ask back, or refuse it. The only place that decides this."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bookwise.answering.evidence.ambiguity import choices
from bookwise.answering.evidence.answerability import BEST_WEIGHT, AnswerSignals, answerability, ceiling, question_terms
from bookwise.answering.evidence.confidence import LEAST_PASSAGES, confidence_of
from bookwise.answering.evidence.language import is_in_other_language
from bookwise.domain.answers import Evidence, Passage, Question, RefusalReason
from bookwise.domain.books import Book, Calibration, Vector
from bookwise.domain.search import Timings
from bookwise.text.words import stem

NEAREST_MAX = 3  #: lessons a refusal names
#: The least similarity of a lesson that a refusal names. Set by hand on refused questions of the sample book: lessons
#: below it share only everyday words with the question.
NEAR = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything the decision about one question is based on."""

    query: str  #: the question as it was searched for
    passages: tuple[Passage, ...]  #: the hits, best first, numbered from 1, with the similarity of the search
    signals: AnswerSignals
    calibration: Calibration
    vectors: Mapping[str, Vector]  #: of the passages, by chunk id
    vector: Vector = ()  #: of the question
    timings: Timings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with a question, and the evidence for it."""

    evidence: Evidence
    refusal: RefusalReason | None  #: None: answer; `ambiguous`: ask back; anything else: refuse
    nearest: tuple[Passage, ...] = ()  #: the passages to choose from when asking back, the closest lessons otherwise


def decide(question: Question, findings: Findings) -> Decision:
    """Returns the decision, with at most `top_k` passages as its evidence.

    Confidence is computed from all passages of the findings that reach the threshold. These can be more than `top_k`:
    a single passage is not enough for an answer, also when the caller wants to see only one. It is enough if the book,
    or the part of it that was searched, has no other.
    """
    passages = rescored(findings)
    relevant = [passage for passage in passages if passage.score >= question.threshold]
    vectors = [findings.vectors[p.chunk.id] for p in relevant if p.chunk.id in findings.vectors]
    evidence = Evidence(
        question=findings.query,
        passages=tuple(relevant[: question.top_k]),
        confidence=confidence_of(
            [passage.score for passage in relevant], vectors, is_only=len(passages) < LEAST_PASSAGES
        ),
        timings=findings.timings,
    )
    if not passages:
        return Decision(evidence=evidence, refusal="nothing-found")
    nearest = nearest_lessons(passages[: question.top_k])
    if not evidence.confidence.should_answer:
        return Decision(evidence=evidence, refusal="not-in-the-book", nearest=nearest)
    if options := choices(evidence.question, relevant):
        return Decision(evidence=evidence, refusal="ambiguous", nearest=options)
    return Decision(evidence=evidence, refusal=None, nearest=nearest)


def for_reader(decision: Decision, text: str, book: Book, *, only_quotes: bool) -> Decision:
    """Returns the decision for the reader who wrote this text.

    A question in another language than the book's is refused, unless a model is there that can answer it: a quote would
    be no answer to its reader. Such a refusal names no lesson: the search compares words of two languages. Any other
    refusal names only sections that are near and whose heading has a word of the question, so that readers see why.
    """
    if (only_quotes or decision.refusal) and is_in_other_language(text, book, decision.nearest):
        return replace(decision, refusal="other-language", nearest=())
    if decision.refusal is None:
        return decision
    near = tuple(passage for passage in decision.nearest if passage.score >= NEAR)
    if decision.refusal == "ambiguous":
        return replace(decision, nearest=near)
    words = _stems(decision.evidence.question)
    return replace(decision, nearest=tuple(passage for passage in near if words & _stems(_heading(passage))))


def _heading(passage: Passage) -> str:
    where = passage.chunk.locator
    return where.section_title or where.page_title


def _stems(text: str) -> set[str]:
    return {stem(word.lower()) for word in question_terms(text)}


def nothing_found(query: str) -> Decision:
    """Returns the refusal of a question for which there is no passage at all."""
    return Decision(evidence=no_evidence(query), refusal="nothing-found")


def no_evidence(query: str) -> Evidence:
    """Returns evidence without passages."""
    return Evidence(question=query, passages=(), confidence=confidence_of((), ()))


def nearest_lessons(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Returns the first passage of each lesson, for at most three lessons."""
    lessons: dict[str, Passage] = {}
    for passage in passages:
        lessons.setdefault(passage.chunk.lesson_id, passage)
    return tuple(lessons.values())[:NEAREST_MAX]


def rescored(findings: Findings) -> list[Passage]:
    """Returns the passages with their similarity as an answer to the question.

    One passage that answers makes a question answerable, and the average of all passages has to show it. So each
    strength is moved towards the strength of the best match, which is corrected by the signals.
    """
    if not findings.passages:
        return []
    best = answerability(max(passage.strength for passage in findings.passages), findings.signals)
    limit = ceiling(findings.signals)
    return [replace(p, score=min(_similarity(p, best, findings.calibration), limit)) for p in findings.passages]


def _similarity(passage: Passage, best: float, calibration: Calibration) -> float:
    return calibration.similarity(passage.strength + BEST_WEIGHT * (best - passage.strength))
