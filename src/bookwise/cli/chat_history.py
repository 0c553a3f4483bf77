"""A question of a chat → its answer's events, remembered until the chat is over or kept in the store."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from bookwise.answering.ask import AskKit, ask
from bookwise.answering.converse import assistant_message, converse, cut_off, user_message
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, Blocked, Question, TextDelta
from bookwise.domain.threads import LIVE_MESSAGES_MAX, Thread, ThreadMessage, checked_thread_id
from bookwise.ports import ThreadStore


class ChatHistory(Protocol):
    """What was said in this chat."""

    def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        """The answer's events; question and answer are remembered, also when the answer is stopped."""

    def forget(self) -> None:
        """Begins anew."""


class InMemoryHistory:
    """Remembers until the chat is over."""

    def __init__(self, kit: AskKit) -> None:
        self._kit = kit
        self._messages: list[ThreadMessage] = []

    async def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        said, answer = "", None
        try:
            async with aclosing(ask(question, self._kit, history=self._messages)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        said += event.text
                    elif isinstance(event, AnswerFinished):
                        answer = event.answer
                    yield event
        finally:
            self._remember(question, answer, said)

    def forget(self) -> None:
        self._messages.clear()

    def _remember(self, question: Question, answer: Answer | None, said: str) -> None:
        message = assistant_message(answer) if answer else cut_off(said)
        if message.content.strip() and not isinstance(answer, Blocked):
            self._messages += (user_message(question.text), message)
            del self._messages[:-LIVE_MESSAGES_MAX]


class StoredHistory:
    """Remembers in the store, in one thread until it is told to begin anew."""

    def __init__(self, kit: AskKit, threads: ThreadStore) -> None:
        self._kit = kit
        self._threads = threads
        self.thread_id: str | None = None  #: none before the first question: an empty thread is not worth keeping

    async def resume(self, thread_id: str) -> Thread:
        thread = await self._threads.thread(checked_thread_id(thread_id))
        self.thread_id = thread.id
        return thread

    async def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        if self.thread_id is None:
            self.thread_id = (await self._threads.create(book_id=question.book_id)).id
        async with aclosing(converse(question, self.thread_id, kit=self._kit, threads=self._threads)) as events:
            async for event in events:
                yield event

    def forget(self) -> None:
        self.thread_id = None
