"""`import bookwise`: a question in Python → AgentResponse, and the retrieval tool as a function."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, get_args

import anyio
import anyio.to_thread

from bookwise.answering.retrieval_tool import TOP_K_MAX
from bookwise.domain.answers import EngineName, Passage
from bookwise.domain.errors import DataFolderBusy, InvalidInput
from bookwise.domain.threads import ThreadMessage
from bookwise.operations.ask import AskBook, RetrievePassages, open_asking
from bookwise.operations.handover import hand_over
from bookwise.operations.operation import Operation
from bookwise.retrieval.select_book import select_book as book_for
from bookwise.schemas.agent import AgentConfig, ConversationState, ToolResponse
from bookwise.schemas.ask import AgentResponse, Query
from bookwise.schemas.library import Conversation, Message, RetrievalContext, thread_messages
from bookwise.settings import Settings, load_settings
from bookwise.wiring import open_search

__all__ = [
    "ask",
    "ask_async",
    "book_for",
    "execute_retrieval_tool",
    "open_asking",
    "retrieve_documentation",
]

HARDWARE_TIER = 4  #: lessons of every tier
T = TypeVar("T")


def ask(  # noqa: PLR0913 - one parameter per choice
    query: str | Query,
    top_k: int | None = None,
    module_filter: str | None = None,
    *,
    book: str | None = None,
    engine: EngineName | None = None,
    data_dir: str | Path | None = None,
    history: Sequence[Message | ThreadMessage] | Conversation | ConversationState = (),
    settings: Settings | AgentConfig | None = None,
) -> AgentResponse:
    """Answers one question from an ingested book and cites the sections that answer it.

    - `query`: the question, as text or as a `Query`.
    - `top_k`: passages to read (1–100). Default: the query's own, else `AGENT_TOP_K`.
    - `module_filter`: a module of the book, or its alias.
    - `book`: the book's id; optional when there is only one book.
    - `engine`: `extractive`, `direct` or `agent`. Default: the configured one.
    - `history`: the messages before a follow-up, or a whole `Conversation`.
    - `settings`: default: the environment. An `AgentConfig` overrides the settings it names.

    A refusal is an answer (`outcome == "refused"`). Errors are raised as `bookwise.domain.errors`; the field `error`
    is only set for a blocked message and for an answer that was cut off.

    Each call opens, locks and closes the data folder. If a running service holds the folder, the service answers
    with its own model settings. If another process holds it, `DataFolderBusy` is raised.
    """
    _require_no_event_loop("ask", "`await bookwise.ask_async(…)`")
    call = partial(ask_async, book=book, engine=engine, data_dir=data_dir, history=history, settings=settings)
    return anyio.run(call, query, top_k, module_filter)


async def ask_async(  # noqa: PLR0913 - one parameter per choice
    query: str | Query,
    top_k: int | None = None,
    module_filter: str | None = None,
    *,
    book: str | None = None,
    engine: EngineName | None = None,
    data_dir: str | Path | None = None,
    history: Sequence[Message | ThreadMessage] | Conversation | ConversationState = (),
    settings: Settings | AgentConfig | None = None,
) -> AgentResponse:
    """Like `ask`, for a program with an event loop (asyncio)."""
    resolved = _settings_for(settings, data_dir=data_dir, engine=engine)
    text = query if isinstance(query, str) else query.text
    module = module_filter if isinstance(query, str) else module_filter or query.module_filter
    operation = AskBook(
        text=text,
        book=book,
        module=module,
        top_k=_top_k(query, resolved) if top_k is None else top_k,
        tier=HARDWARE_TIER,
        threshold=resolved.agent_score_threshold,
        engine=engine,
        history=_history(history, text),
    )
    try:
        async with open_asking(resolved) as kit:
            answer = await operation.run(replace(kit, system_prompt=_system_prompt(settings)))
    except DataFolderBusy as busy:
        answer = await _hand_over(resolved, busy, operation)
    return AgentResponse.of(answer, query=text, min_relevance=resolved.min_relevance_score, module=module)


def retrieve_documentation(
    query: str,
    top_k: int | None = None,
    similarity_threshold: float = 0.0,
    *,
    book: str | None = None,
    data_dir: str | Path | None = None,
    settings: Settings | AgentConfig | None = None,
) -> RetrievalContext:
    """The passages of a book about a query, best first: what the agent's tool of this name finds.

    `top_k` is 1–20; the default is `AGENT_TOP_K`. Wrong arguments raise `InvalidInput`; other failures raise
    `bookwise.domain.errors`.
    """
    resolved = _settings_for(settings, data_dir=data_dir)
    begin = perf_counter()
    passages = _retrieve(query, top_k, similarity_threshold, book=book, settings=resolved)
    return RetrievalContext.of_passages(
        passages,
        query=query,
        query_time_ms=(perf_counter() - begin) * 1e3,
        min_relevance_score=resolved.min_relevance_score,
    )


def execute_retrieval_tool(
    query: str,
    top_k: int | None = None,
    similarity_threshold: float = 0.0,
    *,
    book: str | None = None,
    data_dir: str | Path | None = None,
    settings: Settings | AgentConfig | None = None,
) -> str:
    """The same as JSON for a model that called the tool: `results`, `total_results` and `query`.

    Wrong arguments give an object with `error` and `query`, for the model to correct itself. Other failures, such as
    an unknown book, raise `bookwise.domain.errors`.
    """
    resolved = _settings_for(settings, data_dir=data_dir)
    try:
        passages = _retrieve(query, top_k, similarity_threshold, book=book, settings=resolved)
    except InvalidInput as error:
        return ToolResponse.failed(error.message, query=query if isinstance(query, str) else "").to_json()
    return ToolResponse.of(passages, query=query).to_json()


def _settings_for(
    settings: Settings | AgentConfig | None = None,
    *,
    data_dir: str | Path | None = None,
    engine: str | None = None,
) -> Settings:
    """The given settings, or those of the environment, with this data folder and this engine."""
    if engine is not None and engine not in get_args(EngineName):
        raise InvalidInput(f"There is no engine {engine!r}.", advice=f"Use {', '.join(get_args(EngineName))}.")
    overrides: dict[str, Any] = {"data_dir": Path(data_dir)} if data_dir is not None else {}
    if engine is not None:
        overrides["engine"] = engine
    if settings is None:
        return load_settings(**overrides)
    base = settings if isinstance(settings, Settings) else settings.settings()
    return replace(base, **overrides)


def _top_k(query: str | Query, settings: Settings) -> int:
    if isinstance(query, str) or "top_k" not in query.model_fields_set:
        return settings.agent_top_k
    return query.top_k


def _system_prompt(settings: Settings | AgentConfig | None) -> str | None:
    if settings is None or isinstance(settings, Settings) or "system_prompt" not in settings.model_fields_set:
        return None
    return settings.system_prompt


def _history(
    history: Sequence[Message | ThreadMessage] | Conversation | ConversationState, question: str
) -> tuple[ThreadMessage, ...]:
    """The questions and answers before this question, which may itself be the last message of a conversation."""
    turns = thread_messages(history if isinstance(history, Sequence) else history.messages)
    is_asked = bool(turns) and turns[-1].role == "user" and turns[-1].content == question
    return turns[:-1] if is_asked else turns


def _retrieve(
    query: str, top_k: int | None, similarity_threshold: float, *, book: str | None, settings: Settings
) -> tuple[Passage, ...]:
    _require_no_event_loop("The retrieval tool", "`await asyncio.to_thread(…)`")
    top_k = min(settings.agent_top_k, TOP_K_MAX) if top_k is None else top_k
    operation = RetrievePassages(query=query, top_k=top_k, similarity_threshold=similarity_threshold, book=book)

    async def run() -> tuple[Passage, ...]:
        try:
            async with open_search(settings) as kit:
                return await operation.run(kit)
        except DataFolderBusy as busy:
            return await _hand_over(settings, busy, operation)

    return anyio.run(run)


async def _hand_over(settings: Settings, busy: DataFolderBusy, operation: Operation[Any, T]) -> T:
    return await anyio.to_thread.run_sync(hand_over, settings, busy, operation, abandon_on_cancel=True)


def _require_no_event_loop(caller: str, alternative: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        f"{caller} cannot run inside a running event loop.",
        advice=f"Use {alternative} here, also in a notebook.",
    )
