"""A stored thread into the session an agent of the SDK remembers by."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from agents import TResponseInputItem
from agents.memory import SessionSettings

from bookwise.answering.prompts import exchanges
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import ThreadStore


def _now() -> datetime:
    return datetime.now(UTC)


class ThreadSession:
    """Keeps the SDK's `Session` protocol over one thread.

    The store knows questions and answers that take turns. So an exchange reaches it when its answer is there;
    until then question, tool calls and tool results are remembered here, and tool items never longer.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self, threads: ThreadStore, thread_id: str, *, owner: str = "", now: Callable[[], datetime] = _now
    ) -> None:
        self.session_id = thread_id
        self._threads = threads
        self._owner = owner
        self._now = now
        self._running: list[TResponseInputItem] = []

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items in order: the thread's finished messages, then those of the running exchange."""
        thread = await self._threads.thread(self.session_id, owner=self._owner)
        stored = [_item(message) for exchange in exchanges(thread.messages) for message in exchange]
        items = [*stored, *self._running]
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        self._running += items
        question = "\n\n".join(_texts(self._running, "user"))
        answer = "".join(_texts(self._running[-1:], "assistant"))
        if question and answer:
            await self._threads.begin(self.session_id, question, owner=self._owner)
            said = ThreadMessage(role="assistant", content=answer, timestamp=self._now())
            await self._threads.finish(self.session_id, said, owner=self._owner)
            self._running.clear()

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes back the newest item of the running exchange; what the store has is not taken back."""
        return self._running.pop() if self._running else None

    async def clear_session(self) -> None:
        """Empties the thread, which keeps its id, book and owner."""
        self._running.clear()
        thread = await self._threads.thread(self.session_id, owner=self._owner)
        await self._threads.remove(thread.id, owner=self._owner)
        await self._threads.create(
            book_id=thread.book_id, owner=self._owner, thread_id=thread.id, metadata=thread.metadata
        )


def _item(message: ThreadMessage) -> TResponseInputItem:
    return cast(TResponseInputItem, {"role": message.role, "content": message.content})


def _texts(items: list[TResponseInputItem], role: str) -> list[str]:
    found: list[Any] = [item for item in items if cast(Any, item).get("role") == role]
    return [_text(item["content"]) for item in found]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if "text" in part)
