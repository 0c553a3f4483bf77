"""Evidence → the same evidence with the text a language model reads: whole blocks of the best sections.

A model that sees only the chunk that was found misses the list or the code that follows it.
"""

from collections.abc import Iterator
from dataclasses import replace

from bookwise.answering.extractive.extract import Budget, Extract, extract
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights
from bookwise.domain.answers import Evidence, Passage, RankedSection
from bookwise.ports import ReadSection

# Words. All sections together take about 2,000 tokens, as five chunks do.
SECTION = Budget(words=350, whole=500)
TOTAL = 1_500
LEFT_OUT = "…"


async def with_section_texts(evidence: Evidence, read_section: ReadSection) -> Evidence:
    """Returns the evidence whose best sections have their text, as far as the budget goes; at least the first one.
    A section beyond it keeps the text of its passage."""
    question = classify_question(evidence.question)
    weights = question_weights(question, evidence.passages)
    room, texts = TOTAL, dict[str, str]()
    for section in evidence.sections:
        text = _text(extract(await read_section(section.passage), question, weights, SECTION))
        room -= len(text.split())
        if texts and room < 0:
            break
        texts[section.passage.chunk.id] = text
    return replace(
        evidence,
        passages=tuple(_with_text(passage, texts) for passage in evidence.passages),
        sections=tuple(_section_with_text(evidence.sections, texts)),
    )


def _text(shown: Extract) -> str:
    runs = ("\n\n".join(group.text for group in run) for run in shown.runs)
    return f"\n\n{LEFT_OUT}\n\n".join(runs)


def _section_with_text(sections: tuple[RankedSection, ...], texts: dict[str, str]) -> Iterator[RankedSection]:
    for section in sections:
        yield replace(section, passage=_with_text(section.passage, texts))


def _with_text(passage: Passage, texts: dict[str, str]) -> Passage:
    return replace(passage, section_text=texts.get(passage.chunk.id, ""))
