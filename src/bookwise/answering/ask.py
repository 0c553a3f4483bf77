"""Question + thread → answer events. Start reading here: this is the use case of the second road.

Every caller gets a stream of events; `final` reduces it to the answer.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import perf_counter

import anyio

from bookwise.answering import messages
from bookwise.answering.evidence.decision import Decision, for_reader, nearest_lessons, no_evidence
from bookwise.answering.evidence.retrieve import EvidenceSearch
from bookwise.answering.followup.current_lesson import about_lesson, mentions_current_lesson, with_lesson_title
from bookwise.answering.followup.resolve import resolve
from bookwise.answering.grounding.citation_numbers import in_order
from bookwise.answering.guardrails import injection
from bookwise.answering.model_evidence import with_section_texts
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
    Question,
    Refused,
    SearchStarted,
    State,
    StateChanged,
    TextDelta,
    Usage,
)
from bookwise.domain.books import Book
from bookwise.domain.errors import BookwiseError, Misconfigured, ModelUnavailable
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import Answerer, AnswerTask, ModelStatus, Rewriter
from bookwise.retrieval.search import SearchKit
from bookwise.text.small_talk import is_small_talk


@dataclass(frozen=True, slots=True, kw_only=True)
class AskKit:
    """The ports and settings an answer needs."""

    search: SearchKit
    engines: Mapping[EngineName, Answerer]  #: `extractive` is always one of them
    engine: EngineName = "extractive"  #: for questions that name none
    rewriter: Rewriter | None = None
    model: ModelStatus | None = None  #: None without a language model
    unsupported: UnsupportedPolicy = "drop"
    temperature: float = 0.0
    max_tokens: int | None = None
    max_turns: int = 50  #: newest turns of a thread that are read
    system_prompt: str | None = None  #: of the engine `agent`; None: the built-in one
    timeout_seconds: float = 60.0

    def engine_for(self, question: Question) -> Answerer:
        """Returns the engine for a question; raises `Misconfigured` if it needs a language model and there is none."""
        name = question.engine or self.engine
        if name not in self.engines:
            raise Misconfigured(
                f"The engine {name!r} needs a language model, but none is configured.",
                advice="Set OPENAI_API_KEY (and OPENAI_BASE_URL for another provider), or use --engine extractive.",
            )
        return self.engines[name]

    def events(self, question: Question, *, history: Sequence[ThreadMessage] = ()) -> AsyncGenerator[AnswerEvent]:
        """The events of the answer while it is written."""
        return ask(question, self, history=history)

    async def answer(self, question: Question, *, history: Sequence[ThreadMessage] = ()) -> Answer:
        """The complete answer."""
        return await final(self.events(question, history=history))


async def ask(question: Question, kit: AskKit, *, history: Sequence[ThreadMessage] = ()) -> AsyncGenerator[AnswerEvent]:
    """Yields the events of one answer. The last one is `AnswerFinished`.

    A question that cannot be served yields the state ERROR, then raises a `BookwiseError`.
    """
    try:
        async with aclosing(AnswerRun(question, kit, history).events()) as events:
            async for event in events:
                yield event
    except BookwiseError:
        yield StateChanged(state="ERROR")
        raise


async def final(events: AsyncIterator[AnswerEvent]) -> Answer:
    """Returns the answer at the end of the events."""
    async for event in events:
        if isinstance(event, AnswerFinished):
            return event.answer
    raise AssertionError("the events of an answer always end with AnswerFinished")


class AnswerRun:
    """One question on its way to an answer."""

    def __init__(self, question: Question, kit: AskKit, history: Sequence[ThreadMessage]) -> None:
        self._question = question
        self._kit = kit
        self._history = tuple(history)[-2 * kit.max_turns :]
        self._engine = kit.engine_for(question)
        lesson_id = question.lesson.id if question.lesson else None
        self._search = EvidenceSearch(question=question, kit=kit.search, lesson_id=lesson_id)
        self._lesson_query: str | None = None  #: what a chosen lesson is searched for: all of it has its title
        self._deadline = anyio.current_time() + kit.timeout_seconds
        self._started = self._retrieved = perf_counter()

    async def events(self) -> AsyncGenerator[AnswerEvent]:
        yield StateChanged(state="PENDING")
        book = await self._kit.search.catalog.book(self._question.book_id)
        if answer := self._immediate_answer(book):
            for event in _last_events(answer, "ERROR" if isinstance(answer, Blocked) else "COMPLETED"):
                yield event
            return
        yield StateChanged(state="RETRIEVING")
        query = await self._standalone()
        yield SearchStarted(query=query, top_k=self._question.top_k)
        only_quotes = self._engine.name == "extractive"
        decision = for_reader(await self._decide(query), self._question.text, book, only_quotes=only_quotes)
        self._retrieved = perf_counter()
        yield EvidenceFound(evidence=decision.evidence)
        if decision.refusal is not None:
            for event in _last_events(self._refusal(book, decision), "NO_RESULTS"):
                yield event
            return
        async with aclosing(self._generation(book, decision.evidence)) as generation:
            async for event in generation:
                yield event

    async def _decide(self, query: str) -> Decision:
        """Returns the decision for the lesson that the question is about, or for the book if that lesson has no
        answer."""
        within_lesson = self._lesson_query if self._search.lesson_id is not None else None
        decision = await self._search.decide(within_lesson or query)
        if decision.refusal is None or self._search.lesson_id is None:
            return decision
        self._search = EvidenceSearch(question=self._question, kit=self._kit.search)
        return await self._search.decide(query)

    def _immediate_answer(self, book: Book) -> Blocked | Refused | None:
        """Returns the answer to a message that needs no search: an injection attempt or small talk."""
        text = self._question.text
        if reason := injection(text):
            return Blocked(text=messages.BLOCKED, reason=reason, meta=self._meta("extractive"))
        if is_small_talk(text):
            greeting = Decision(evidence=no_evidence(text), refusal="small-talk")
            return self._refused(greeting, messages.small_talk(book.title))
        return None

    async def _generation(self, book: Book, evidence: Evidence) -> AsyncGenerator[AnswerEvent]:
        """Yields the events from the moment an engine starts to write."""
        yield StateChanged(state="GENERATING")
        if self._engine.name != "extractive":
            evidence = await with_section_texts(evidence, self._search.section_text)
            self._search.remember(evidence.passages)
        task = AnswerTask(
            question=self._question.text,
            standalone=evidence.question,
            book=book,
            evidence=evidence,
            history=self._history,
            retrieve=self._search.retrieve,
            read_section=self._search.section_text,
            temperature=self._kit.temperature,
            max_tokens=self._kit.max_tokens,
            top_k=self._question.top_k,
            system_prompt=self._kit.system_prompt,
            deadline=self._deadline,
        )
        draft = AnswerDraft(engine=self._engine.name)
        async with aclosing(write(task, self._writer, draft)) as deltas:
            async for delta in deltas:
                yield delta
        answer = self._answer(draft, evidence)
        if not draft.deltas and answer.text:
            yield TextDelta(text=answer.text)
        yield StateChanged(state=_state_of(answer))
        yield AnswerFinished(answer=answer)

    @property
    def _writer(self) -> WriterConfig:
        return WriterConfig(
            engine=self._engine,
            fallback=self._kit.engines["extractive"],
            search=self._search,
            unsupported=self._kit.unsupported,
        )

    async def _standalone(self) -> str:
        """Returns the question as it is searched for: rewritten by the model if there is one, by rules otherwise."""
        text, lesson = self._question.text, self._question.lesson
        if lesson and not mentions_current_lesson(text):
            self._lesson_query = text  # chosen by the reader: nothing in the thread is needed
            return about_lesson(text, lesson.title)
        text = with_lesson_title(text, lesson.title) if lesson else text
        resolved = resolve(text, self._history)
        if resolved.choice is not None:
            self._search.lesson_id = await self._search.lesson_titled(resolved.choice)
            self._lesson_query = resolved.text.removesuffix(f" ({resolved.choice})")
            return resolved.text
        has_answer = any(message.role == "assistant" and message.complete for message in self._history)
        if not resolved.is_followup or not has_answer or self._kit.rewriter is None:
            return resolved.text
        try:
            return await self._kit.rewriter.standalone(text, self._history, deadline=self._deadline)
        except ModelUnavailable:
            return resolved.text

    def _refusal(self, book: Book, decision: Decision) -> Refused:
        """Returns the refusal or the question back that the evidence calls for, before any engine runs."""
        decision = replace(decision, nearest=in_order(decision.nearest))
        match decision.refusal:
            case "ambiguous":
                text = messages.which_one(decision.nearest)
            case "other-language":
                text = messages.other_language(book.language)
            case _:
                text = messages.refusal(decision.nearest)
        return self._refused(decision, text)

    def _refused(self, decision: Decision, text: str) -> Refused:
        assert decision.refusal is not None, "only a refusal has a reason"
        return Refused(
            text=text,
            reason=decision.refusal,
            evidence=decision.evidence,
            nearest=decision.nearest,
            meta=self._meta("extractive"),
        )

    def _answer(self, draft: AnswerDraft, evidence: Evidence) -> Answer:
        """Returns the answer that the draft amounts to. A text that is a refusal, or cites nothing, is a refusal."""
        meta = self._meta(draft.engine, draft)
        citations = draft.citations(self._search.by_number)
        if draft.cut_off:
            seen = citations if draft.text else ()
            return Interrupted(text=draft.text, reason=draft.cut_off, evidence=evidence, meta=meta, citations=seen)
        if draft.refuses or not citations:
            nearest = in_order(nearest_lessons(self._search.seen.values()))
            text = draft.text or messages.refusal(nearest)
            return Refused(text=text, reason="not-in-the-book", evidence=evidence, nearest=nearest, meta=meta)
        return Answered(
            text=draft.text,
            citations=citations,
            evidence=evidence,
            grounding=draft.grounding,
            disclaimer=messages.doubtful(citations[0].passage) if evidence.confidence.level == "low" else None,
            meta=meta,
            highlights=draft.highlights,
            related=draft.written.related if draft.written else (),
        )

    def _meta(self, engine: EngineName, draft: AnswerDraft | None = None) -> AnswerMeta:
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


def _last_events(answer: Answer, state: State) -> tuple[AnswerEvent, ...]:
    """Returns the last events of an answer whose text is complete."""
    return TextDelta(text=answer.text), StateChanged(state=state), AnswerFinished(answer=answer)


def _state_of(answer: Answer) -> State:
    match answer:
        case Interrupted() | Blocked():
            return "ERROR"
        case Refused():
            return "NO_RESULTS"
        case Answered():
            return "LOW_CONF" if answer.disclaimer else "COMPLETED"
