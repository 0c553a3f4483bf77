"""A book and its questions → a fitted similarity scale, compared with the current one."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from bookwise.answering.evidence.retrieve import EvidenceSearch
from bookwise.domain.answers import Evidence, Question
from bookwise.domain.books import Book, Calibration, Chunk
from bookwise.domain.search import Live
from bookwise.evaluation.fit import Fit, Strengths, fit_calibration, mean
from bookwise.evaluation.off_topic import FOREIGN_QUESTIONS
from bookwise.ingestion.discovery.profile import ValidationQuestion
from bookwise.ports import CatalogReader
from bookwise.retrieval.search import SearchKit

HEADING_QUESTIONS_MAX = 200
STRENGTH_MAX = 4.0
STRAIGHT = Calibration(
    knots=((0.0, 0.0), (STRENGTH_MAX, 1.0))
)  #: similarities on this scale are the strengths, divided by STRENGTH_MAX

_TEMPLATES = ("What is {}?", "How does {} work?")
_QUESTION_WORDS = frozenset(["how", "what", "when", "where", "which", "who", "why"])
_HEADING_LENGTHS = range(3, 81)
_GENERIC = """
about this book|acknowledgements|advantages|answers|appendix|background|before you begin|best practices|bibliography
|changelog|checklist|conclusion|conclusions|contents|contributing|disadvantages|example|examples|exercise|exercises
|faq|further reading|getting started|glossary|goals|how it works|important|in this chapter|in this lesson|index
|installation|introduction|key points|key takeaways|learning objectives|learning outcomes|license|limitations|links
|motivation|next steps|note|notes|objectives|outline|overview|practice|preface|prerequisites|problems|questions|quiz
|recap|references|related work|requirements|resources|review questions|see also|setup|solution|solutions|steps|summary
|table of contents|takeaways|tips|troubleshooting|try it|try it yourself|usage|warning|welcome|what is next|what next
|what you will learn|what's next|where to go next|wrap up|wrap-up
"""
GENERIC_HEADINGS = frozenset(heading.strip() for heading in _GENERIC.split("|"))

OnMatched = Callable[[str], None]
FindEvidence = Callable[[str, Calibration], Awaitable[Evidence]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Questions that the book answers, and questions that it does not."""

    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    from_headings: bool  #: the positives are built from headings
    foreign: bool  #: the negatives are the built-in off-topic questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The effect of one map on the samples."""

    answered: float  #: of the questions the book answers
    refused: float  #: of the others

    @property
    def balance(self) -> float:
        return (self.answered + self.refused) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRun:
    """A fit, its samples and its effect."""

    samples: Samples
    dropped: tuple[str, ...]  #: off-topic questions that the book seems to answer
    fit: Fit
    before: Shares | None
    after: Shares | None  #: None when there is no fit


def samples_of(questions: Sequence[ValidationQuestion], chunks: Iterable[Chunk]) -> Samples:
    """The book's own questions. Headings and built-in off-topic questions replace missing ones."""
    own = tuple(question.text for question in questions if question.kind == "answerable")
    refused = tuple(question.text for question in questions if question.kind in ("off-topic", "near-miss"))
    return Samples(
        positives=own or heading_questions(chunks),
        negatives=refused or FOREIGN_QUESTIONS,
        from_headings=not own,
        foreign=not refused,
    )


def heading_questions(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    """Questions built from the headings, spread evenly over the book."""
    titles = (" ".join((chunk.locator.section_title or "").split()) for chunk in chunks)
    headings = list(dict.fromkeys(title for title in titles if _is_specific(title)))
    questions = [question for heading in headings for question in _questions_about(heading.rstrip("?.!: "))]
    step = max(1.0, len(questions) / HEADING_QUESTIONS_MAX)
    return tuple(questions[int(place * step)] for place in range(min(len(questions), HEADING_QUESTIONS_MAX)))


def _questions_about(heading: str) -> tuple[str, ...]:
    if heading.casefold().split()[0] in _QUESTION_WORDS:
        return (f"{heading}?",)
    return tuple(template.format(heading) for template in _TEMPLATES)


def _is_specific(heading: str) -> bool:
    plain = heading.casefold().strip(" ?.!:").lstrip("0123456789. ")
    return len(heading) in _HEADING_LENGTHS and any(map(str.isalpha, plain)) and plain not in GENERIC_HEADINGS


async def calibrate_book(
    book: Book, samples: Samples, kit: SearchKit, *, on_matched: OnMatched = lambda text: None
) -> CalibrationRun:
    """Fits the map on the samples and compares it with the current one."""

    async def evidence(text: str, scale: Calibration) -> Evidence:
        on_matched(text)
        question = Question(text=text, book_id=book.id)
        return await EvidenceSearch(question=question, kit=_with_scale(kit, scale)).evidence(text)

    positives = {text: _strengths(await evidence(text, STRAIGHT)) for text in samples.positives}
    negatives = {text: _strengths(await evidence(text, STRAIGHT)) for text in samples.negatives}
    dropped = _answerable_after_all(positives, negatives) if samples.foreign else ()
    used = replace(samples, negatives=tuple(text for text in samples.negatives if text not in dropped))
    fit = fit_calibration(list(positives.values()), [negatives[text] for text in used.negatives])
    before = await _shares(used, kit.calibration_of(book), evidence)
    after = await _shares(used, fit.calibration, evidence) if fit.calibration else None
    if before and after and after.balance < before.balance:
        reason = "The current map is already better than the one fitted on these questions."
        fit, after = replace(fit, calibration=None, reason=reason), None
    return CalibrationRun(samples=used, dropped=dropped, fit=fit, before=before, after=after)


def toml_of(calibration: Calibration, embedder: str) -> str:
    """The table to paste into `bookwise.toml`."""
    knots = ", ".join(f"[{strength:.6g}, {similarity:.6g}]" for strength, similarity in calibration.knots)
    return f'[calibration]\nembedder = "{embedder}"\nknots = [{knots}]'


def _answerable_after_all(positives: dict[str, Strengths], negatives: dict[str, Strengths]) -> tuple[str, ...]:
    """The off-topic questions that match better than half of the positives."""
    usual = median(map(mean, positives.values())) if positives else STRENGTH_MAX
    return tuple(text for text, strengths in negatives.items() if mean(strengths) > usual)


async def _shares(samples: Samples, scale: Calibration, evidence: FindEvidence) -> Shares | None:
    if not samples.positives or not samples.negatives:
        return None
    answered = [(await evidence(text, scale)).confidence.should_answer for text in samples.positives]
    wrongly = [(await evidence(text, scale)).confidence.should_answer for text in samples.negatives]
    return Shares(answered=fmean(answered), refused=1.0 - fmean(wrongly))


def _strengths(evidence: Evidence) -> Strengths:
    """The match strengths of the passages, from similarities on the straight scale."""
    return tuple(passage.score * STRENGTH_MAX for passage in evidence.passages)


def _with_scale(kit: SearchKit, calibration: Calibration) -> SearchKit:
    return replace(kit, catalog=_RescaledCatalogReader(kit.catalog, calibration))


class _RescaledCatalogReader:
    """The same books with another similarity scale."""

    def __init__(self, catalog: CatalogReader, calibration: Calibration) -> None:
        self._catalog, self._calibration = catalog, calibration

    async def books(self) -> list[Book]:
        return [replace(book, calibration=self._calibration) for book in await self._catalog.books()]

    async def book(self, book_id: str) -> Book:
        return replace(await self._catalog.book(book_id), calibration=self._calibration)

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        return await self._catalog.books_with_chunk(chunk_id)

    async def live(self, book_id: str) -> Live:
        return await self._catalog.live(book_id)
