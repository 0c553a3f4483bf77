"""Ranked sections → links to those that the answer does not show."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bookwise.answering.extractive.display import plain
from bookwise.answering.relevance.question_type import QuestionType
from bookwise.answering.relevance.rank import TermWeights, match_score, unit_contexts
from bookwise.answering.relevance.sections import coverage, is_furniture
from bookwise.domain.answers import Passage, RankedSection, RelatedSection
from bookwise.text.shorten import shortened

RELATED_MAX = 3
LINE_MAX = 100  #: characters
#: The share of the question that the line must contain. Set by hand on the sample book: with less, the line seldom says
#: what the section has to do with the question.
LEAST_COVERAGE = 0.3


def related_sections(
    ranking: Iterable[RankedSection], shown: Sequence[Passage], question: QuestionType, weights: TermWeights
) -> tuple[RelatedSection, ...]:
    """The next best sections, each with the sentence that holds most of the question. A section without such a
    sentence, and a quiz or summary, is left out."""
    return tuple(islice(_related(ranking, shown, question, weights), RELATED_MAX))


def _related(
    ranking: Iterable[RankedSection], shown: Sequence[Passage], question: QuestionType, weights: TermWeights
) -> Iterator[RelatedSection]:
    places = {_place(passage) for passage in shown}
    for passage in (section.passage for section in ranking):
        if _place(passage) in places or is_furniture(passage.chunk.locator.section_title or "", question.text):
            continue
        if line := _best_line(passage, question, weights):
            places.add(_place(passage))
            yield RelatedSection(passage=passage, line=line)


def _place(passage: Passage) -> tuple[str, ...]:
    """What a reader would be sent to: two sections of one page without anchors are one place."""
    where = passage.chunk.locator
    return (where.url,) if where.url else (where.source_file, *where.heading_path)


def _best_line(passage: Passage, question: QuestionType, weights: TermWeights) -> str:
    """The sentence or list item that matches best, shortened; empty when none holds enough of the question."""
    contexts = [
        context
        for context in unit_contexts(passage)
        if context.unit.kind in ("sentence", "item") and coverage(weights, context.terms) >= LEAST_COVERAGE
    ]
    best = max(contexts, key=lambda context: match_score(question, context, weights), default=None)
    return shortened(plain(best.unit.text), LINE_MAX) if best else ""
