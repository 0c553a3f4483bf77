"""Question + thread → AnswerEvent*: the use case of road two. Everyone streams; who wants no stream folds it."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import perf_counter

import anyio

from bookwise.answering import messages
from bookwise.answering.evidence.ambiguity import choices
from bookwise.answering.evidence.retrieve import EvidenceSearch, no_evidence
from bookwise.answering.followup.resolve import resolve
from bookwise.answering.guardrails import injection
from bookwise.answering.write import AnswerDraft, UnsupportedPolicy, WriterConfig, write
from bookwise.domain.answers import (
    Answer,
    Answered,
    AnswerEvent,
    AnswerFinished,
    AnswerMeta,
    Blocked,
    EngineName,
    Evidence,
    EvidenceFound,
    Interrupted,
    Passage,
    Question,
    RefusalReason,
    Refused,
    SearchStarted,
    State,
    StateChanged,
    TextDelta,
    Usage,
)
from bookwise.domain.errors import BookwiseError, Misconfigured, ModelUnavailable
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import Answerer, AnswerTask, Rewriter
from bookwise.retrieval.search import SearchKit
from bookwise.text.small_talk import is_small_talk

NEAREST_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AskKit:
    """What an answer needs from outside."""

    search: SearchKit
    engines: Mapping[EngineName, Answerer]  #: `extractive` is always among them
    engine: EngineName = "extractive"  #: for a question that names none
    rewriter: Rewriter | None = None
    unsupported: UnsupportedPolicy = "drop"
    temperature: float = 0.0
    max_tokens: int | None = None
    max_turns: int = 50  #: newest turns of a thread that are read
    system_prompt: str | None = None  #: of the engine `agent`; None: the built-in one
    timeout_seconds: float = 60.0

    def engine_for(self, question: Question) -> Answerer:
        name = question.engine or self.engine
        if name not in self.engines:
            raise Misconfigured(
                f"The engine {name!r} needs a language model, and none is configured.",
                advice="Set OPENAI_API_KEY (and OPENAI_BASE_URL for another provider), or use --engine extractive.",
            )
        return self.engines[name]


async def ask(question: Question, kit: AskKit, *, history: Sequence[ThreadMessage] = ()) -> AsyncGenerator[AnswerEvent]:
    """The events of one answer, the last one `AnswerFinished`. What cannot be served is raised after state ERROR."""
    try:
        async with aclosing(AnswerRun(question, kit, history).events()) as events:
            async for event in events:
                yield event
    except BookwiseError:
        yield StateChanged(state="ERROR")
        raise


async def final(events: AsyncIterator[AnswerEvent]) -> Answer:
    """The answer at the end of its events."""
    async for event in events:
        if isinstance(event, AnswerFinished):
            return event.answer
    raise AssertionError("the events of an answer always end with AnswerFinished")


class AnswerRun:
    """One question on its way to its answer."""

    def __init__(self, question: Question, kit: AskKit, history: Sequence[ThreadMessage]) -> None:
        self._question = question
        self._kit = kit
        self._history = tuple(history)[-2 * kit.max_turns :]
        self._engine = kit.engine_for(question)
        self._gathering = EvidenceSearch(question=question, kit=kit.search)
        self._deadline = anyio.current_time() + kit.timeout_seconds
        self._started = self._retrieved = perf_counter()

    async def events(self) -> AsyncGenerator[AnswerEvent]:
        yield StateChanged(state="PENDING")
        book = await self._kit.search.catalog.book(self._question.book_id)
        if reason := injection(self._question.text):
            blocked = Blocked(text=messages.BLOCKED, reason=reason, meta=self._made("extractive"))
            for event in _ending(blocked, "ERROR"):
                yield event
            return
        if is_small_talk(self._question.text):
            greeting = self._refused("small-talk", messages.small_talk(book.title), no_evidence(self._question.text))
            for event in _ending(greeting, "COMPLETED"):
                yield event
            return
        yield StateChanged(state="RETRIEVING")
        standalone = await self._standalone()
        yield SearchStarted(query=standalone, top_k=self._question.top_k)
        evidence = await self._gathering.evidence(standalone)
        self._retrieved = perf_counter()
        yield EvidenceFound(evidence=evidence)
        if refusal := self._refusal(evidence):
            for event in _ending(refusal, "NO_RESULTS"):
                yield event
            return
        yield StateChanged(state="GENERATING")
        task = AnswerTask(
            question=self._question.text,
            standalone=evidence.question,
            book=book,
            evidence=evidence,
            history=self._history,
            retrieve=self._gathering.retrieve,
            temperature=self._kit.temperature,
            max_tokens=self._kit.max_tokens,
            top_k=self._question.top_k,
            system_prompt=self._kit.system_prompt,
            deadline=self._deadline,
        )
        draft = AnswerDraft(engine=self._engine.name)
        async with aclosing(write(task, self._pen, draft)) as pieces:
            async for piece in pieces:
                yield piece
        answer = self._answer(draft, evidence)
        if not draft.said and answer.text:
            yield TextDelta(text=answer.text)
        yield StateChanged(state=_state_of(answer))
        yield AnswerFinished(answer=answer)

    @property
    def _pen(self) -> WriterConfig:
        return WriterConfig(
            engine=self._engine,
            fallback=self._kit.engines["extractive"],
            gathering=self._gathering,
            unsupported=self._kit.unsupported,
        )

    async def _standalone(self) -> str:
        """The question as it can be searched for: a model rewrites it, and rules do where there is none."""
        by_rule = resolve(self._question.text, self._history)
        answered = any(message.role == "assistant" and message.complete for message in self._history)
        if not by_rule.is_followup or not answered or self._kit.rewriter is None:
            return by_rule.text
        try:
            return await self._kit.rewriter.standalone(self._question.text, self._history, deadline=self._deadline)
        except ModelUnavailable:
            return by_rule.text

    def _refusal(self, evidence: Evidence) -> Refused | None:
        """The refusal this evidence demands, before any engine is asked."""
        if not evidence.passages:
            return self._refused("nothing-found", messages.refusal(self._nearest), evidence)
        if not evidence.confidence.should_answer:
            return self._refused("not-in-the-book", messages.refusal(self._nearest), evidence)
        if offered := choices(evidence.question, evidence.passages):
            return self._refused("ambiguous", messages.which_one(offered), evidence, nearest=offered)
        return None

    @property
    def _nearest(self) -> tuple[Passage, ...]:
        """The best passage of each of the closest lessons."""
        lessons: dict[str, Passage] = {}
        for passage in self._gathering.seen.values():
            lessons.setdefault(passage.chunk.lesson_id, passage)
        return tuple(lessons.values())[:NEAREST_MAX]

    def _refused(
        self, reason: RefusalReason, text: str, evidence: Evidence, *, nearest: tuple[Passage, ...] | None = None
    ) -> Refused:
        return Refused(
            text=text,
            reason=reason,
            evidence=evidence,
            nearest=self._nearest if nearest is None else nearest,
            meta=self._made("extractive"),
        )

    def _answer(self, draft: AnswerDraft, evidence: Evidence) -> Answer:
        meta = self._made(draft.engine, draft)
        if draft.cut_off:
            return Interrupted(text=draft.text, reason=draft.cut_off, evidence=evidence, meta=meta)
        citations = draft.citations(self._gathering.by_number)
        if draft.refuses or not citations:
            text = draft.text or messages.refusal(self._nearest)
            return Refused(text=text, reason="not-in-the-book", evidence=evidence, nearest=self._nearest, meta=meta)
        return Answered(
            text=draft.text,
            citations=citations,
            evidence=evidence,
            grounding=draft.grounding,
            disclaimer=messages.DISCLAIMER if evidence.confidence.level == "low" else None,
            meta=meta,
        )

    def _made(self, engine: EngineName, draft: AnswerDraft | None = None) -> AnswerMeta:
        now = perf_counter()
        written = draft.written if draft else None
        return AnswerMeta(
            engine=engine,
            model=written.model if written else "",
            degraded=draft.degraded if draft else None,
            truncated=written.truncated if written else False,
            usage=written.usage if written else Usage(),
            retrieval_ms=(self._retrieved - self._started) * 1e3,
            generation_ms=(now - self._retrieved) * 1e3 if draft else 0.0,
            total_ms=(now - self._started) * 1e3,
        )


def _ending(answer: Answer, state: State) -> tuple[AnswerEvent, ...]:
    """The last events of an answer that is known as a whole."""
    return TextDelta(text=answer.text), StateChanged(state=state), AnswerFinished(answer=answer)


def _state_of(answer: Answer) -> State:
    match answer:
        case Interrupted() | Blocked():
            return "ERROR"
        case Refused():
            return "NO_RESULTS"
        case Answered():
            return "LOW_CONF" if answer.disclaimer else "COMPLETED"
