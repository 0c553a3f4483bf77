"""Passages → an answer that only quotes the book, each unit with its citation [n]. Needs no model."""

from collections.abc import AsyncIterator, Iterator, Sequence

from bookwise.answering.extractive.compose import SelectedUnit, compose, needs_context
from bookwise.answering.extractive.display import is_numbered_list, item, prose
from bookwise.answering.relevance.question_type import classify_question
from bookwise.domain.answers import Citation, EngineName, SearchStarted, TextDelta, Usage
from bookwise.ports import AnswerTask, Written


class ExtractiveAnswerer:
    """Implements `Answerer` without a language model: deterministic, and grounded because it quotes."""

    name: EngineName = "extractive"

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        """Yields the quotes as Markdown, then `Written` with their citations."""
        selection = compose(classify_question(task.standalone), task.evidence.passages)
        units = [unit for unit in selection if _cited_text(unit)]
        for text in _markdown(units):
            yield TextDelta(text=text)
        yield Written(usage=Usage(), citations=_citations(units))


def _markdown(units: Sequence[SelectedUnit]) -> Iterator[str]:
    """Yields the text piece by piece: sentences of one passage form a paragraph, everything else a block."""
    before: SelectedUnit | None = None
    for group in _groups(units):
        yield from _group_markdown(before, group)
        before = group[-1]


def _groups(units: Sequence[SelectedUnit]) -> Iterator[list[SelectedUnit]]:
    """Yields the items of one list together, every other unit alone."""
    group: list[SelectedUnit] = []
    for unit in units:
        if group and not _in_same_list(group[-1], unit):
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


def _in_same_list(before: SelectedUnit, unit: SelectedUnit) -> bool:
    return before.passage == unit.passage and before.context.unit.kind == unit.context.unit.kind == "item"


def _group_markdown(before: SelectedUnit | None, group: Sequence[SelectedUnit]) -> Iterator[str]:
    numbered = is_numbered_list([unit.context.unit.text for unit in group])
    for step, unit in enumerate(group, 1):
        marker = "" if len(group) == 1 else f"{step}. " if numbered else "- "
        start = "\n" if step > 1 else _separator(before, unit) + _heading(before, unit, alone=len(group) == 1)
        yield start + marker + _cited_text(unit)


def _separator(before: SelectedUnit | None, unit: SelectedUnit) -> str:
    if before is None:
        return ""
    kinds = (before.context.unit.kind, unit.context.unit.kind)
    return " " if kinds == ("sentence", "sentence") and before.passage == unit.passage else "\n\n"


def _heading(before: SelectedUnit | None, unit: SelectedUnit, *, alone: bool) -> str:
    """Returns the heading of a block without an introduction, or of a sentence that refers to one not quoted."""
    kind = unit.context.unit.kind
    has_introduction = before is not None and before.passage == unit.passage
    if has_introduction or (kind == "item" and alone) or (kind == "sentence" and not needs_context(unit.context)):
        return ""
    return f"**{prose(unit.context.heading)}**\n\n"


def _cited_text(selected: SelectedUnit) -> str:
    """Returns a unit with its citation; empty if it contains nothing but markup."""
    unit, citation = selected.context.unit, f"[{selected.passage.number}]"
    if unit.kind in ("code", "table"):
        return f"{unit.text}\n\n{citation}"
    text = item(unit.text) if unit.kind == "item" else prose(unit.text)
    return f"{text} {citation}" if text else ""


def _citations(units: Sequence[SelectedUnit]) -> tuple[Citation, ...]:
    """Returns one citation per passage; its quote is the first unit of the passage in the answer."""
    citations: dict[int, Citation] = {}
    for unit in units:
        number = unit.passage.number
        citations.setdefault(number, Citation(number=number, passage=unit.passage, quote=unit.context.unit.text))
    return tuple(citations.values())
