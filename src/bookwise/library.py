"""A question in Python → AgentResponse: `bookwise.ask()` and `bookwise.ask_async()`."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import anyio

from bookwise.domain.answers import EngineName, Question
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import CatalogReader
from bookwise.retrieval.select_book import select_book
from bookwise.settings import Settings, load_settings
from bookwise.wiring import open_answers, open_search

if TYPE_CHECKING:
    from bookwise.answering.ask import AskKit
    from bookwise.schemas.ask import AgentResponse

TEMPERATURE = 0.1  #: of a single question, where the settings name none


def ask(  # noqa: PLR0913 - one parameter per choice
    query: str,
    top_k: int = 5,
    module_filter: str | None = None,
    *,
    book: str | None = None,
    engine: EngineName | None = None,
    data_dir: str | Path | None = None,
    history: Sequence[ThreadMessage] = (),
    settings: Settings | None = None,
) -> "AgentResponse":
    """Answers one question from a book that was ingested, and shows where the book says so.

    `top_k` passages (1–100) are read; `module_filter` is a module of the book or its alias; `book` may be left out
    when there is only one; `engine` is `extractive`, `direct` or `agent`, else the configured one; `history` holds
    the messages before a follow-up, a user's and an assistant's in turn.

    A refusal is an answer (`outcome == "refused"`). What goes wrong is raised as one of `bookwise.domain.errors`;
    `error` is only set for a message that was blocked and for an answer that was cut off.

    The data folder is opened, held and closed by each call, so another process can have it in between; while one
    question is being answered, a second one on the same folder is `DataFolderBusy`.
    """
    _require_no_event_loop()
    asked = partial(ask_async, book=book, engine=engine, data_dir=data_dir, history=history, settings=settings)
    return anyio.run(asked, query, top_k, module_filter)


async def ask_async(  # noqa: PLR0913 - one parameter per choice
    query: str,
    top_k: int = 5,
    module_filter: str | None = None,
    *,
    book: str | None = None,
    engine: EngineName | None = None,
    data_dir: str | Path | None = None,
    history: Sequence[ThreadMessage] = (),
    settings: Settings | None = None,
) -> "AgentResponse":
    """The same as `ask`, for a program with an event loop (asyncio)."""
    from bookwise.answering.ask import ask, final
    from bookwise.schemas.ask import AgentResponse

    known = settings_for(settings, data_dir=data_dir, engine=engine)
    async with open_asking(known) as kit:
        about = await book_for(kit.search.catalog, book, module_filter)
        question = Question(
            text=query,
            book_id=about.id,
            module=module_filter,
            top_k=top_k,
            threshold=known.agent_score_threshold,
        )
        answer = await final(ask(question, kit, history=history))
    return AgentResponse.of(answer, query=query, min_relevance=known.min_relevance_score)


def settings_for(
    settings: Settings | None = None, *, data_dir: str | Path | None = None, engine: str | None = None
) -> Settings:
    """The settings, those of the environment where none are given, with this data folder and this engine."""
    if engine is not None and engine not in get_args(EngineName):
        raise InvalidInput(f"There is no engine {engine!r}.", advice=f"Use {', '.join(get_args(EngineName))}.")
    wanted = {"data_dir": Path(data_dir) if data_dir is not None else None, "engine": engine}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    return replace(settings, **given) if settings is not None else load_settings(**given)


@asynccontextmanager
async def open_asking(settings: Settings) -> AsyncIterator["AskKit"]:
    """What a single question needs, opened as fast as can be."""
    async with open_search(settings) as search, open_answers(settings, search) as kit:
        yield for_one_question(kit, settings)


def for_one_question(kit: "AskKit", settings: Settings) -> "AskKit":
    return replace(kit, temperature=TEMPERATURE) if settings.temperature is None else kit


async def book_for(catalog: CatalogReader, book_id: str | None, module: str | None = None) -> Book:
    """The book a question is about; the module must be one of it."""
    book = await select_book(catalog, book_id)
    if module is not None:
        from bookwise.schemas.ask import module_names

        allowed = module_names(book)
        if allowed and module not in allowed:
            raise InvalidInput(f"Book {book.id!r} has no module {module!r}; it has: {', '.join(sorted(allowed))}.")
    return book


def _require_no_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        "ask() cannot wait inside a running event loop; `await bookwise.ask_async(…)` can.",
        advice="Use `await bookwise.ask_async(…)` here, in a notebook too.",
    )
