"""A thread → the session by which the Agents SDK gives its agent the conversation so far."""

from collections.abc import Sequence
from typing import cast

from agents import TResponseInputItem
from agents.memory import SessionSettings

from bookwise.answering.prompts import recent
from bookwise.domain.threads import ThreadMessage


class ThreadSession:
    """The SDK's `Session` protocol over one thread, for one run.

    The recent exchanges of the thread come first, then the items that the run adds. Nothing is written to a store:
    the thread is saved where every engine's answer is saved, and tool items are not part of it.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, history: Sequence[ThreadMessage] = (), *, session_id: str = "") -> None:
        self.session_id = session_id
        self._items = [cast(TResponseInputItem, dict(message)) for message in recent(history)]

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, in order."""
        return list(self._items) if limit is None else self._items[max(0, len(self._items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        self._items += items

    async def pop_item(self) -> TResponseInputItem | None:
        return self._items.pop() if self._items else None

    async def clear_session(self) -> None:
        self._items.clear()
