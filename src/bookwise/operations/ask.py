"""One question → its answer, or the events of that answer."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwise.domain.answers import Answer, AnswerEvent, EngineName, Question

if TYPE_CHECKING:
    from bookwise.answering.ask import AskKit


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBook:
    """One question, answered from the book."""

    text: str
    book: str | None
    module: str | None
    top_k: int
    tier: int
    threshold: float
    engine: EngineName | None

    async def run(self, kit: "AskKit") -> Answer:
        from bookwise.answering.ask import final

        return await final(await self.events(kit))

    async def events(self, kit: "AskKit") -> AsyncGenerator[AnswerEvent]:
        """The answer while it is written."""
        from bookwise.answering.ask import ask  # after the model began to load
        from bookwise.library import book_for

        question = Question(
            text=self.text,
            book_id=(await book_for(kit.search.catalog, self.book, self.module)).id,
            module=self.module,
            hardware_tier=self.tier,
            top_k=self.top_k,
            threshold=self.threshold,
            engine=self.engine,
        )
        return ask(question, kit)
