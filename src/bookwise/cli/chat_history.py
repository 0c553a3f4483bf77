"""A question of a chat → the events of its answer. The turn is kept in memory, and in the store with `--save`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from bookwise.answering.ask import AskKit, ask
from bookwise.answering.converse import converse
from bookwise.domain.answers import (
    Answer,
    AnswerEvent,
    AnswerFinished,
    Blocked,
    Evidence,
    EvidenceFound,
    Interrupted,
    Question,
    TextDelta,
)
from bookwise.domain.threads import LIVE_MESSAGES_MAX, Thread, checked_thread_id
from bookwise.ports import ThreadStore
from bookwise.schemas.agent import ConversationState
from bookwise.schemas.library import thread_messages


class ChatHistory(Protocol):
    """The turns of one chat."""

    @property
    def state(self) -> ConversationState:
        """The conversation since the chat or `/new` began."""

    def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        """The events of the answer. Question and answer are kept, also when the answer is stopped."""

    def forget(self) -> None:
        """Starts a new conversation."""


@dataclass(slots=True)
class TurnRecord:
    """One turn while it is answered."""

    question: Question
    text: str = ""
    answer: Answer | None = None
    evidence: list[Evidence] = field(default_factory=list)

    def read(self, event: AnswerEvent) -> None:
        match event:
            case TextDelta():
                self.text += event.text
            case EvidenceFound():
                self.evidence.append(event.evidence)
            case AnswerFinished():
                self.answer = event.answer

    def add_to(self, state: ConversationState) -> None:
        """Adds the turn to the conversation; a blocked question and an empty answer leave no trace."""
        text = self.answer.text if self.answer else self.text
        if not text.strip() or isinstance(self.answer, Blocked):
            return
        state.ask(self.question.text)
        for evidence in self.evidence:
            state.record_retrieval(evidence.passages, query=evidence.question, top_k=self.question.top_k)
        state.answer(text, complete=self.answer is not None and not isinstance(self.answer, Interrupted))


class InMemoryHistory:
    """Keeps the conversation until the chat ends."""

    def __init__(self, kit: AskKit, *, max_turns: int) -> None:
        self._kit = kit
        self.state = ConversationState(max_turns=max_turns)

    def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        history = thread_messages(self.state.messages)[-LIVE_MESSAGES_MAX:]
        return _recorded(ask(question, self._kit, history=history), question, self.state)

    def forget(self) -> None:
        self.state = ConversationState(max_turns=self.state.max_turns)


class StoredHistory:
    """Keeps the conversation in the store, in one thread until `forget` starts another."""

    def __init__(self, kit: AskKit, threads: ThreadStore, *, max_turns: int) -> None:
        self._kit = kit
        self._threads = threads
        self.thread_id: str | None = None  #: None before the first question: empty threads are not stored
        self.state = ConversationState(max_turns=max_turns)

    async def resume(self, thread_id: str) -> Thread:
        thread = await self._threads.thread(checked_thread_id(thread_id))
        self.thread_id = thread.id
        return thread

    def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        return _recorded(self._stored_answer(question), question, self.state)

    async def _stored_answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        if self.thread_id is None:
            self.thread_id = (await self._threads.create(book_id=question.book_id)).id
        async with aclosing(converse(question, self.thread_id, kit=self._kit, threads=self._threads)) as events:
            async for event in events:
                yield event

    def forget(self) -> None:
        self.thread_id = None
        self.state = ConversationState(max_turns=self.state.max_turns)


async def _recorded(
    events: AsyncGenerator[AnswerEvent], question: Question, state: ConversationState
) -> AsyncGenerator[AnswerEvent]:
    """The same events; the turn is added to the conversation at the end, also when the reader stops early."""
    turn = TurnRecord(question)
    try:
        async with aclosing(events):
            async for event in events:
                turn.read(event)
                yield event
    finally:
        turn.add_to(state)
