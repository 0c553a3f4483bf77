"""A book and its questions → its own scale of similarity, with what it does compared to the present one."""

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
STRAIGHT = Calibration(knots=((0.0, 0.0), (STRENGTH_MAX, 1.0)))  #: similarities on it tell the strengths themselves

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
    """Questions the book answers, and questions it does not."""

    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    from_headings: bool  #: the book has no answerable questions of its own
    foreign: bool  #: the book has no questions of its own that it must refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What one map does with the samples."""

    answered: float  #: of the questions the book answers
    refused: float  #: of the others

    @property
    def balance(self) -> float:
        return (self.answered + self.refused) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRun:
    """A fit with what it was made of and what it changes."""

    samples: Samples
    dropped: tuple[str, ...]  #: foreign questions whose topic is in the book after all
    fit: Fit
    before: Shares | None
    after: Shares | None  #: None when there is no fit


def samples_of(questions: Sequence[ValidationQuestion], chunks: Iterable[Chunk]) -> Samples:
    """The book's own questions; headings and foreign questions stand in for what it lacks."""
    own = tuple(question.text for question in questions if question.kind == "answerable")
    refused = tuple(question.text for question in questions if question.kind in ("off-topic", "near-miss"))
    return Samples(
        positives=own or heading_questions(chunks),
        negatives=refused or FOREIGN_QUESTIONS,
        from_headings=not own,
        foreign=not refused,
    )


def heading_questions(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    """Questions made out of a book's headings, taken evenly from its beginning to its end."""
    titles = (" ".join((chunk.locator.section_title or "").split()) for chunk in chunks)
    headings = list(dict.fromkeys(title for title in titles if _says_something(title)))
    made = [question for heading in headings for question in _asked_about(heading.rstrip("?.!: "))]
    step = max(1.0, len(made) / HEADING_QUESTIONS_MAX)
    return tuple(made[int(place * step)] for place in range(min(len(made), HEADING_QUESTIONS_MAX)))


def _asked_about(heading: str) -> tuple[str, ...]:
    if heading.casefold().split()[0] in _QUESTION_WORDS:
        return (f"{heading}?",)
    return tuple(template.format(heading) for template in _TEMPLATES)


def _says_something(heading: str) -> bool:
    plain = heading.casefold().strip(" ?.!:").lstrip("0123456789. ")
    return len(heading) in _HEADING_LENGTHS and any(map(str.isalpha, plain)) and plain not in GENERIC_HEADINGS


async def calibrate_book(
    book: Book, samples: Samples, kit: SearchKit, *, on_matched: OnMatched = lambda text: None
) -> CalibrationRun:
    """Fits the map on the samples and compares it with the one in use."""

    async def evidence(text: str, scale: Calibration) -> Evidence:
        on_matched(text)
        question = Question(text=text, book_id=book.id)
        return await EvidenceSearch(question=question, kit=_with_scale(kit, scale)).evidence(text)

    positives = {text: _strengths(await evidence(text, STRAIGHT)) for text in samples.positives}
    negatives = {text: _strengths(await evidence(text, STRAIGHT)) for text in samples.negatives}
    dropped = _in_the_book(positives, negatives) if samples.foreign else ()
    kept = replace(samples, negatives=tuple(text for text in samples.negatives if text not in dropped))
    fit = fit_calibration(list(positives.values()), [negatives[text] for text in kept.negatives])
    before = await _shares(kept, kit.calibration_of(book), evidence)
    after = await _shares(kept, fit.calibration, evidence) if fit.calibration else None
    if before and after and after.balance < before.balance:
        worse = "The map in use already does better than the one fitted on these questions."
        fit, after = replace(fit, calibration=None, reason=worse), None
    return CalibrationRun(samples=kept, dropped=dropped, fit=fit, before=before, after=after)


def toml_of(calibration: Calibration, embedder: str) -> str:
    """The table to paste into `bookwise.toml`."""
    knots = ", ".join(f"[{strength:.6g}, {similarity:.6g}]" for strength, similarity in calibration.knots)
    return f'[calibration]\nembedder = "{embedder}"\nknots = [{knots}]'


def _in_the_book(positives: dict[str, Strengths], negatives: dict[str, Strengths]) -> tuple[str, ...]:
    """The foreign questions that match more strongly than half of the book's own."""
    usual = median(map(mean, positives.values())) if positives else STRENGTH_MAX
    return tuple(text for text, found in negatives.items() if mean(found) > usual)


async def _shares(samples: Samples, scale: Calibration, evidence: FindEvidence) -> Shares | None:
    if not samples.positives or not samples.negatives:
        return None
    answered = [(await evidence(text, scale)).confidence.should_answer for text in samples.positives]
    wrongly = [(await evidence(text, scale)).confidence.should_answer for text in samples.negatives]
    return Shares(answered=fmean(answered), refused=1.0 - fmean(wrongly))


def _strengths(evidence: Evidence) -> Strengths:
    """The strengths that answering weighs, read off the straight scale."""
    return tuple(passage.score * STRENGTH_MAX for passage in evidence.passages)


def _with_scale(kit: SearchKit, calibration: Calibration) -> SearchKit:
    return replace(kit, catalog=_RescaledCatalogReader(kit.catalog, calibration))


class _RescaledCatalogReader:
    """The same books on another scale of similarity."""

    def __init__(self, shelf: CatalogReader, calibration: Calibration) -> None:
        self._shelf, self._calibration = shelf, calibration

    async def books(self) -> list[Book]:
        return [replace(book, calibration=self._calibration) for book in await self._shelf.books()]

    async def book(self, book_id: str) -> Book:
        return replace(await self._shelf.book(book_id), calibration=self._calibration)

    async def live(self, book_id: str) -> Live:
        return await self._shelf.live(book_id)
