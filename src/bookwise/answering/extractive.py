"""Passages → an answer that only quotes: the units that answer, in order, each with its [n]. No model."""

from collections.abc import AsyncIterator, Iterator, Sequence

from bookwise.answering.asked import asked
from bookwise.answering.compose import Picked, composed
from bookwise.answering.display import is_numbered, item, prose
from bookwise.domain.answers import Citation, EngineName, Said, SearchStarted, Usage
from bookwise.ports import AnswerTask, Written


class ExtractiveAnswerer:
    """Keeps the promises of `Answerer` without a key: deterministic, and grounded because it quotes."""

    name: EngineName = "extractive"

    async def answer(self, task: AnswerTask) -> AsyncIterator[Said | SearchStarted | Written]:
        picked = [part for part in composed(asked(task.standalone), task.evidence.passages) if _text(part)]
        for text in _pieces(picked):
            yield Said(text=text)
        yield Written(usage=Usage(), citations=_citations(picked))


def _pieces(picked: Sequence[Picked]) -> Iterator[str]:
    """The parts as Markdown: sentences run on, everything else stands apart."""
    before: Picked | None = None
    step = 0
    for part in picked:
        step = step + 1 if part.place.unit.kind == "item" else 0
        yield _gap(before, part) + _text(part, step)
        before = part


def _gap(before: Picked | None, part: Picked) -> str:
    if before is None:
        return ""
    kinds = (before.place.unit.kind, part.place.unit.kind)
    if kinds == ("item", "item"):
        return "\n"
    return " " if kinds == ("sentence", "sentence") and before.passage == part.passage else "\n\n"


def _text(part: Picked, step: int = 1) -> str:
    unit, number = part.place.unit, f"[{part.passage.number}]"
    match unit.kind:
        case "code" | "table":
            return f"{unit.text}\n\n{number}"
        case "item":
            marker = f"{step}." if is_numbered(unit.text) else "-"
            said = item(unit.text)
            return f"{marker} {said} {number}" if said else ""
        case _:
            said = prose(unit.text)
            return f"{said} {number}" if said else ""


def _citations(picked: Sequence[Picked]) -> tuple[Citation, ...]:
    """One for each passage, with the first words of it that stand in the answer."""
    cited: dict[int, Citation] = {}
    for part in picked:
        number = part.passage.number
        cited.setdefault(number, Citation(number=number, passage=part.passage, quote=part.place.unit.text))
    return tuple(cited.values())
