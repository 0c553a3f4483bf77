"""Passages → an answer that only quotes: whole blocks of the best section, or of the two best. No model."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from bookwise.answering.extractive.display import prose, readable
from bookwise.answering.extractive.extract import Budget, Extract, extract
from bookwise.answering.extractive.highlight import find_highlights
from bookwise.answering.extractive.related import related_sections
from bookwise.answering.relevance.question_type import QuestionType, classify_question
from bookwise.answering.relevance.rank import TermWeights, unit_contexts
from bookwise.answering.relevance.sections import coverage, question_weights
from bookwise.domain.answers import (
    Citation,
    EngineName,
    Highlight,
    Passage,
    RankedSection,
    SearchStarted,
    TextDelta,
    Usage,
)
from bookwise.ports import AnswerTask, Written

# Words; half of the answers have at most 185, nine in ten fewer than 260 (docs/benchmarks.md, Readers).
ALONE = Budget(words=190, whole=250)
FIRST = Budget(words=110, whole=170)
SECOND = Budget(words=100, whole=130)
SECOND_WITHIN = 0.25  #: a second section within this score of the first is shown too; chosen, not fitted
LEFT_OUT = "…"


class ExtractiveAnswerer:
    """Implements `Answerer` without a key: deterministic, and grounded because it quotes."""

    name: EngineName = "extractive"

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        question = classify_question(task.standalone)
        weights = question_weights(question, task.evidence.passages)
        sections = _shown_sections(question, task.evidence.sections)
        citations: list[Citation] = []
        budgets = (FIRST, SECOND) if len(sections) > 1 else (ALONE,)
        for section, budget in zip(sections, budgets, strict=False):
            passage = replace(section.passage, number=len(citations) + 1)
            shown = extract(await task.read_section(passage), question, weights, budget)
            text = "\n\n".join(_paragraphs(shown, passage, titled=len(sections) > 1))
            if text:
                yield _delta(text, find_highlights(text, question, weights), first=not citations)
                citations.append(_citation(passage, shown, weights))
        cited = [citation.passage for citation in citations]
        related = related_sections(task.evidence.sections, cited, question, weights)
        yield Written(usage=Usage(), citations=tuple(citations), related=related)


def _shown_sections(question: QuestionType, ranked: Sequence[RankedSection]) -> Sequence[RankedSection]:
    """The best section; the second one too when it is about as good, or when two things are compared."""
    if len(ranked) < 2:
        return ranked
    close = ranked[0].score - ranked[1].score <= SECOND_WITHIN
    return ranked[:2] if close or question.kind == "difference" else ranked[:1]


def _delta(text: str, highlights: Sequence[Highlight], *, first: bool) -> TextDelta:
    """The text of a section, with a blank line before it unless it is the first."""
    gap = "" if first else "\n\n"
    return TextDelta(text=gap + text, highlights=tuple(highlight.moved(len(gap)) for highlight in highlights))


def _paragraphs(shown: Extract, passage: Passage, *, titled: bool) -> list[str]:
    """The blocks as Markdown, with `…` where something was left out and [n] after the last paragraph."""
    blocks: list[tuple[str, str]] = []
    for run in shown.runs:
        if blocks:
            blocks.append(("gap", LEFT_OUT))
        blocks.extend((block.kind, text) for group in run for block in group.blocks if (text := readable(block)))
    if not any(kind != "gap" for kind, _ in blocks):
        return []
    return [*_title(passage, blocks[0][0], titled=titled), *_cited(blocks, passage.number)]


def _title(passage: Passage, first_kind: str, *, titled: bool) -> list[str]:
    """The section's heading, where two sections are shown or no paragraph leads to the first block."""
    where = passage.chunk.locator
    return [f"**{prose(where.section_title or where.page_title)}**"] if titled or first_kind != "paragraph" else []


def _cited(blocks: Sequence[tuple[str, str]], number: int) -> list[str]:
    """The texts with [n] at the end of the last paragraph; of the last list without one, else below the last block."""
    texts = [text for _, text in blocks]
    for kind in ("paragraph", "list"):
        places = [at for at, (found, _) in enumerate(blocks) if found == kind]
        if places and not (kind == "list" and texts[places[-1]].endswith("```")):
            texts[places[-1]] += f" [{number}]"
            return texts
    return [*texts, f"[{number}]"]


def _citation(passage: Passage, shown: Extract, weights: TermWeights) -> Citation:
    """The sentence of the passage that holds most of the question; one that is shown, where there is one."""
    text = "\n\n".join(block.text for block in shown.blocks)
    contexts = unit_contexts(passage)
    best = max(contexts, key=lambda unit: (unit.unit.text in text, coverage(weights, unit.terms)), default=None)
    return Citation(number=passage.number, passage=passage, quote=best.unit.text if best else passage.chunk.text)
