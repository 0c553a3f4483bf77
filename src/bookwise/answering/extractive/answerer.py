"""Passages → an answer that only quotes: the units that answer, in order, each with its [n]. No model."""

from collections.abc import AsyncIterator, Iterator, Sequence

from bookwise.answering.extractive.compose import SelectedUnit, compose, needs_context
from bookwise.answering.extractive.display import is_numbered_list, item, prose
from bookwise.answering.relevance.question_type import classify_question
from bookwise.domain.answers import Citation, EngineName, SearchStarted, TextDelta, Usage
from bookwise.ports import AnswerTask, Written


class ExtractiveAnswerer:
    """Keeps the promises of `Answerer` without a key: deterministic, and grounded because it quotes."""

    name: EngineName = "extractive"

    async def answer(self, task: AnswerTask) -> AsyncIterator[TextDelta | SearchStarted | Written]:
        picked = [part for part in compose(classify_question(task.standalone), task.evidence.passages) if _text(part)]
        for text in _pieces(picked):
            yield TextDelta(text=text)
        yield Written(usage=Usage(), citations=_citations(picked))


def _pieces(picked: Sequence[SelectedUnit]) -> Iterator[str]:
    """The parts as Markdown: sentences run on, everything else stands apart."""
    before: SelectedUnit | None = None
    for group in _groups(picked):
        yield from _group(before, group)
        before = group[-1]


def _groups(picked: Sequence[SelectedUnit]) -> Iterator[list[SelectedUnit]]:
    """The items of one list together, everything else alone."""
    group: list[SelectedUnit] = []
    for part in picked:
        if group and not _same_list(group[-1], part):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _same_list(before: SelectedUnit, part: SelectedUnit) -> bool:
    return before.passage == part.passage and before.place.unit.kind == part.place.unit.kind == "item"


def _group(before: SelectedUnit | None, group: Sequence[SelectedUnit]) -> Iterator[str]:
    numbered = is_numbered_list([part.place.unit.text for part in group])
    for step, part in enumerate(group, 1):
        marker = "" if len(group) == 1 else f"{step}. " if numbered else "- "
        gap = "\n" if step > 1 else _gap(before, part) + _lead(before, part, alone=len(group) == 1)
        yield gap + marker + _text(part)


def _gap(before: SelectedUnit | None, part: SelectedUnit) -> str:
    if before is None:
        return ""
    kinds = (before.place.unit.kind, part.place.unit.kind)
    return " " if kinds == ("sentence", "sentence") and before.passage == part.passage else "\n\n"


def _lead(before: SelectedUnit | None, part: SelectedUnit, *, alone: bool) -> str:
    """The heading of a block that no sentence leads to, or of a sentence that leans on one that is not there."""
    kind = part.place.unit.kind
    led = before is not None and before.passage == part.passage
    if led or (kind == "item" and alone) or (kind == "sentence" and not needs_context(part.place)):
        return ""
    return f"**{prose(part.place.heading)}**\n\n"


def _text(part: SelectedUnit) -> str:
    """A part with its number; nothing when nothing of it can be read."""
    unit, number = part.place.unit, f"[{part.passage.number}]"
    if unit.kind in ("code", "table"):
        return f"{unit.text}\n\n{number}"
    said = item(unit.text) if unit.kind == "item" else prose(unit.text)
    return f"{said} {number}" if said else ""


def _citations(picked: Sequence[SelectedUnit]) -> tuple[Citation, ...]:
    """One for each passage, with the first words of it that stand in the answer."""
    cited: dict[int, Citation] = {}
    for part in picked:
        number = part.passage.number
        cited.setdefault(number, Citation(number=number, passage=part.passage, quote=part.place.unit.text))
    return tuple(cited.values())
