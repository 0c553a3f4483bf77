"""Answer task → text that may be shown: a model's sentences after their check, or quotes without a model."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal, TypeAlias

from bookwise.answering import messages
from bookwise.answering.evidence.retrieve import EvidenceSearch
from bookwise.answering.grounding.citation_numbers import CitationNumbers
from bookwise.answering.grounding.citations import quote_for
from bookwise.answering.grounding.claims import is_refusal
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import CheckedSegment, grounding_of
from bookwise.domain.answers import Citation, EngineName, Grounding, Highlight, Passage, SearchStarted, TextDelta
from bookwise.domain.errors import ModelUnavailable
from bookwise.ports import Answerer, AnswerTask, Written

UnsupportedPolicy: TypeAlias = Literal["drop", "mark"]
WITHDRAWN = "guardrail-output"  #: the failure after which a model's text is not kept


@dataclass(slots=True, kw_only=True)
class AnswerDraft:
    """The text written so far, and how it was written."""

    engine: EngineName
    degraded: str | None = None  #: why the requested engine did not write this
    cut_off: str | None = None  #: why the text is incomplete
    deltas: list[TextDelta] = field(default_factory=list)
    numbers: CitationNumbers = field(default_factory=CitationNumbers)
    segments: list[CheckedSegment] = field(default_factory=list)
    removed: int = 0  #: citations of passages that were not retrieved
    written: Written | None = None

    @property
    def text(self) -> str:
        return self._deltas_joined.strip()

    @property
    def _deltas_joined(self) -> str:
        return "".join(delta.text for delta in self.deltas)

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        """The highlights of all deltas, in `text`."""
        joined = self._deltas_joined
        starts = accumulate((len(delta.text) for delta in self.deltas), initial=len(joined.lstrip()) - len(joined))
        return tuple(
            h.moved(start) for start, delta in zip(starts, self.deltas, strict=False) for h in delta.highlights
        )

    @property
    def refuses(self) -> bool:
        """Whether the model itself found no answer in the passages; quotes of the book are never a refusal."""
        if self.written and self.written.citations:
            return False
        return is_refusal(self.text) and not any(segment.claims and segment.supported for segment in self.segments)

    @property
    def grounding(self) -> Grounding:
        return grounding_of(self.segments, self.removed)

    def citations(self, passages: Mapping[int, Passage]) -> tuple[Citation, ...]:
        """Returns one citation per passage that supports the text, by its number in the text. Passages of code, which
        has no marks, come last."""
        if self.written and self.written.citations:
            return self.written.citations
        citations: dict[int, Citation] = {}
        for segment in self.segments:
            for found in segment.numbers:
                number, quote = self.numbers.cite(found), quote_for(segment.text, passages[found])
                passage = replace(passages[found], number=number)
                citations.setdefault(number, Citation(number=number, passage=passage, quote=quote))
        return tuple(citations[number] for number in sorted(citations))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterConfig:
    """Which engine writes, where its passages come from, and what to do with unsupported sentences."""

    engine: Answerer
    fallback: Answerer  #: quotes the book; needs no model
    search: EvidenceSearch
    unsupported: UnsupportedPolicy = "drop"


async def write(
    task: AnswerTask, config: WriterConfig, draft: AnswerDraft
) -> AsyncGenerator[TextDelta | SearchStarted]:
    """Yields the text of one answer and records it in `draft`.

    If the model fails or produces nothing that may be shown, the fallback writes instead. If it fails after its first
    shown sentence, the text so far stays and is marked as cut off.
    """
    if config.engine is not config.fallback:
        try:
            async for event in _checked_text(task, config, draft):
                yield event
        except ModelUnavailable as error:
            draft.degraded = error.reason
        if draft.deltas:
            _finish_model_text(draft)
            return
        draft.degraded = draft.degraded or "ungrounded"
    async for event in _quoted_text(task, config.fallback, draft):
        yield event


def _finish_model_text(draft: AnswerDraft) -> None:
    """Text that readers have seen is never replaced: it is complete, cut off, or withdrawn."""
    draft.cut_off, draft.degraded = draft.degraded, None
    if draft.cut_off == WITHDRAWN:
        draft.deltas.clear()


async def _quoted_text(
    task: AnswerTask, engine: Answerer, draft: AnswerDraft
) -> AsyncGenerator[TextDelta | SearchStarted]:
    """Yields the text of an engine that only quotes: it needs no check."""
    draft.engine, draft.segments, draft.removed = engine.name, [], 0
    async for event in engine.answer(task):
        if isinstance(event, Written):
            draft.written = event
            continue
        if isinstance(event, TextDelta):
            draft.deltas.append(event)
        yield event


async def _checked_text(
    task: AnswerTask, config: WriterConfig, draft: AnswerDraft
) -> AsyncGenerator[TextDelta | SearchStarted]:
    """Yields a model's text, each sentence as soon as it is complete and checked against the passages."""
    gate = SentenceGate(task.evidence.passages, draft.numbers)
    async for event in config.engine.answer(task):
        match event:
            case SearchStarted():
                yield event
            case Written():
                draft.written = event
            case TextDelta():
                gate.add(tuple(config.search.seen.values()))
                for delta in _visible_text(gate.feed(event.text), config, draft):
                    yield delta
    for delta in _visible_text(gate.close(), config, draft):
        yield delta
    draft.removed = gate.removed


def _visible_text(segments: Sequence[CheckedSegment], config: WriterConfig, draft: AnswerDraft) -> Iterator[TextDelta]:
    """Yields what readers see of these segments: unsupported ones are dropped or marked."""
    draft.segments.extend(segments)
    for segment in segments:
        text = segment.text
        if not segment.supported:
            if config.unsupported == "drop":
                continue
            body = text.rstrip()
            text = body + messages.UNSUPPORTED_MARK + text[len(body) :]
        if not draft.deltas and not text.strip():
            continue
        delta = TextDelta(text=text)
        draft.deltas.append(delta)
        yield delta
