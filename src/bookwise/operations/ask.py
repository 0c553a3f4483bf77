"""One question → its answer, its events, or the passages retrieved for it."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bookwise.answering.retrieval_tool import ToolArguments, run_retrieval_tool
from bookwise.domain.answers import Answer, AnswerEvent, EngineName, Passage, Question
from bookwise.domain.threads import ThreadMessage
from bookwise.retrieval.search import SearchKit
from bookwise.retrieval.select_book import select_book
from bookwise.settings import ASK_TEMPERATURE, Settings
from bookwise.wiring import open_answers, open_search

if TYPE_CHECKING:
    from bookwise.answering.ask import AskKit


@asynccontextmanager
async def open_asking(settings: Settings) -> AsyncIterator["AskKit"]:
    """Opens what a single question needs, and nothing else: that is the fastest start."""
    async with open_search(settings) as search, open_answers(settings, search) as kit:
        yield for_one_question(kit, settings)


def for_one_question(kit: "AskKit", settings: Settings) -> "AskKit":
    """The kit with the default temperature of a single question."""
    return replace(kit, temperature=ASK_TEMPERATURE) if settings.temperature is None else kit


def with_engine(settings: Settings, engine: EngineName | None) -> Settings:
    """The settings with this engine; unchanged when it is None."""
    return settings if engine is None else replace(settings, engine=engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBook:
    """Answers one question from the book."""

    text: str
    book: str | None
    module: str | None
    top_k: int
    tier: int
    threshold: float
    engine: EngineName | None
    history: tuple[ThreadMessage, ...] = ()

    async def run(self, kit: "AskKit") -> Answer:
        return await kit.answer(await self._question(kit), history=self.history)

    async def events(self, kit: "AskKit") -> AsyncGenerator[AnswerEvent]:
        """The events of the answer while it is written."""
        return kit.events(await self._question(kit), history=self.history)

    async def _question(self, kit: "AskKit") -> Question:
        return Question(
            text=self.text,
            book_id=(await select_book(kit.search.catalog, self.book, self.module)).id,
            module=self.module,
            hardware_tier=self.tier,
            top_k=self.top_k,
            threshold=self.threshold,
            engine=self.engine,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievePassages:
    """Runs the retrieval tool on one book: the passages found, best first. Wrong arguments raise `InvalidInput` before
    anything is opened."""

    query: str
    top_k: int
    similarity_threshold: float
    book: str | None

    def __post_init__(self) -> None:
        _ = self._arguments

    @property
    def _arguments(self) -> ToolArguments:
        return ToolArguments(query=self.query, top_k=self.top_k, similarity_threshold=self.similarity_threshold)

    async def run(self, kit: SearchKit) -> tuple[Passage, ...]:
        from bookwise.answering.evidence.retrieve import EvidenceSearch  # 30 ms, while the embedding model loads

        arguments = self._arguments
        book_id = (await select_book(kit.catalog, self.book)).id
        question = Question(text=arguments.query, book_id=book_id, top_k=arguments.top_k)
        return await run_retrieval_tool(arguments, EvidenceSearch(question=question, kit=kit).retrieve)
