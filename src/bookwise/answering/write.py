"""An answer task → the answer's text as it may be shown: checked sentence by sentence, or quoted without a model."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bookwise.answering import messages
from bookwise.answering.evidence.retrieve import EvidenceSearch
from bookwise.answering.grounding.citations import quote_for
from bookwise.answering.grounding.claims import is_refusal
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import CheckedSegment, grounding_of
from bookwise.domain.answers import Citation, EngineName, Grounding, Passage, SearchStarted, TextDelta
from bookwise.domain.errors import ModelUnavailable
from bookwise.ports import Answerer, AnswerTask, Written

UnsupportedPolicy: TypeAlias = Literal["drop", "mark"]
WITHDRAWN = "guardrail-output"  #: the reason of a model whose text may not be kept


@dataclass(slots=True, kw_only=True)
class AnswerDraft:
    """What has been written so far, and how."""

    engine: EngineName
    degraded: str | None = None  #: why the engine that was asked for did not write this
    cut_off: str | None = None  #: why the text ends before its end
    said: list[str] = field(default_factory=list)
    checked: list[CheckedSegment] = field(default_factory=list)
    removed: int = 0
    written: Written | None = None

    @property
    def text(self) -> str:
        return "".join(self.said).strip()

    @property
    def refuses(self) -> bool:
        """Whether the model itself found no answer in the passages; quotes of the book are never a refusal."""
        if self.written and self.written.citations:
            return False
        return is_refusal(self.text) and not any(piece.claims and piece.supported for piece in self.checked)

    @property
    def grounding(self) -> Grounding:
        return grounding_of(self.checked, self.removed)

    def citations(self, passages: Mapping[int, Passage]) -> tuple[Citation, ...]:
        """One citation for each passage the text rests on, in the order of the text."""
        if self.written and self.written.citations:
            return self.written.citations
        quoted: dict[int, Citation] = {}
        for piece in self.checked:
            for number in piece.numbers if piece.supported and piece.claims else ():
                quote = quote_for(piece.text, passages[number])
                quoted.setdefault(number, Citation(number=number, passage=passages[number], quote=quote))
        return tuple(quoted.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterConfig:
    """Who writes, from what, and what becomes of a sentence that no passage carries."""

    engine: Answerer
    fallback: Answerer  #: quotes; needs no model
    gathering: EvidenceSearch
    unsupported: UnsupportedPolicy = "drop"


async def write(task: AnswerTask, pen: WriterConfig, draft: AnswerDraft) -> AsyncGenerator[TextDelta | SearchStarted]:
    """The text of one answer, kept in `draft` as well. A model that gives no word that may be shown is replaced
    by the fallback; one that fails later leaves what it said, marked as cut off."""
    if pen.engine is not pen.fallback:
        try:
            async for event in _checked(task, pen, draft):
                yield event
        except ModelUnavailable as error:
            draft.degraded = error.reason
        if draft.said:
            _settle(draft)
            return
        draft.degraded = draft.degraded or "ungrounded"
    async for event in _quoted(task, pen.fallback, draft):
        yield event


def _settle(draft: AnswerDraft) -> None:
    """A model's text that has begun is never replaced: it stands, is cut off, or is withdrawn."""
    draft.cut_off, draft.degraded = draft.degraded, None
    if draft.cut_off == WITHDRAWN:
        draft.said.clear()


async def _quoted(task: AnswerTask, engine: Answerer, draft: AnswerDraft) -> AsyncGenerator[TextDelta | SearchStarted]:
    """The text of an engine that only quotes: grounded as it is."""
    draft.engine, draft.checked, draft.removed = engine.name, [], 0
    async for event in engine.answer(task):
        if isinstance(event, Written):
            draft.written = event
            continue
        if isinstance(event, TextDelta):
            draft.said.append(event.text)
        yield event


async def _checked(
    task: AnswerTask, pen: WriterConfig, draft: AnswerDraft
) -> AsyncGenerator[TextDelta | SearchStarted]:
    """A model's text, each sentence as soon as it is whole and held against the passages."""
    gate = SentenceGate(task.evidence.passages)
    async for event in pen.engine.answer(task):
        match event:
            case SearchStarted():
                yield event
            case Written():
                draft.written = event
            case TextDelta():
                gate.add(tuple(pen.gathering.seen.values()))
                for piece in _shown(gate.feed(event.text), pen, draft):
                    yield piece
    for piece in _shown(gate.close(), pen, draft):
        yield piece
    draft.removed = gate.removed


def _shown(pieces: Sequence[CheckedSegment], pen: WriterConfig, draft: AnswerDraft) -> Iterator[TextDelta]:
    """What a reader gets to see of these pieces."""
    draft.checked.extend(pieces)
    for piece in pieces:
        text = piece.text
        if not piece.supported:
            if pen.unsupported == "drop":
                continue
            body = text.rstrip()
            text = body + messages.UNSUPPORTED_MARK + text[len(body) :]
        if not draft.said and not text.strip():
            continue
        draft.said.append(text)
        yield TextDelta(text=text)
