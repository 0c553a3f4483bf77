"""Settings → App: the only maker of adapters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.domain.errors import Misconfigured
from bookwise.retrieval.search import SearchKit
from bookwise.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import SecretStr

    from bookwise.adapters.embedders.service import EmbeddingTimeouts
    from bookwise.adapters.openai.client import ModelClient
    from bookwise.answering.ask import AskKit
    from bookwise.domain.answers import EngineName
    from bookwise.ingestion.pipeline import IngestionKit
    from bookwise.ports import (
        Answerer,
        Catalog,
        Embedder,
        JobStore,
        Journal,
        KeyStore,
        LessonIndex,
        ResponseStore,
        Rewriter,
        ThreadStore,
        VectorCache,
    )

DATABASE_FILE = "bookwise.db"

OnPage = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Everything the faces use, opened."""

    settings: Settings
    embedder: Embedder
    vectors: VectorCache
    index: LessonIndex
    catalog: Catalog
    jobs: JobStore
    threads: ThreadStore
    keys: KeyStore
    responses: ResponseStore
    journal: Journal

    @property
    def search_kit(self) -> SearchKit:
        return SearchKit(embedder=self.embedder, index=self.index, catalog=self.catalog)

    @property
    def ingestion_kit(self) -> IngestionKit:
        from bookwise.ingestion.pipeline import IngestionKit  # loads the parsers, which a search does not need

        return IngestionKit(
            embedder=self.embedder,
            vectors=self.vectors,
            index=self.index,
            catalog=self.catalog,
            jobs=self.jobs,
        )


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    index: LessonIndex | None = None,
    take_over_jobs: bool = False,
) -> AsyncIterator[App]:
    """Locks the data folder and opens everything in it.

    `embedder` and `index` replace the configured ones; the caller closes them. Jobs that an earlier process left
    queued or running are marked as failed, unless `take_over_jobs` is set. Raises `DataFolderBusy` while another
    process has the data folder.
    """
    from bookwise.adapters.sql.catalog import SqlCatalog
    from bookwise.adapters.sql.database import open_database
    from bookwise.adapters.sql.jobs import SqlJobs
    from bookwise.adapters.sql.journal import SqlJournal
    from bookwise.adapters.sql.keys import SqlKeys
    from bookwise.adapters.sql.responses import SqlResponses
    from bookwise.adapters.sql.threads import SqlThreads
    from bookwise.adapters.sql.vectors import SqlVectorCache

    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_folder(settings.data_dir))
        if embedder is None:
            embedder = await stack.enter_async_context(open_embedder(settings))
        if index is None:
            index = await stack.enter_async_context(_open_index(settings, embedder))
        database = await stack.enter_async_context(open_database(database_url(settings)))
        jobs = SqlJobs(database, holder=index.id)
        if not take_over_jobs:
            await jobs.interrupt_running()
        yield App(
            settings=settings,
            embedder=embedder,
            vectors=SqlVectorCache(database),
            index=index,
            catalog=SqlCatalog(database, index_id=index.id, exclusive=settings.database_url is None),
            jobs=jobs,
            threads=SqlThreads(database),
            keys=SqlKeys(database),
            responses=SqlResponses(database),
            journal=SqlJournal(database),
        )


@asynccontextmanager
async def open_search(settings: Settings) -> AsyncIterator[SearchKit]:
    """What a single search needs, opened as fast as possible; the whole app where a fast start is not possible."""
    from bookwise.adapters.sql.catalog_reader import SqliteCatalogReader

    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_folder(settings.data_dir))
        embedder = await stack.enter_async_context(open_embedder(settings, inline=True))
        opening = _open_index(settings, embedder)
        if begin_loading := getattr(embedder, "begin_loading", None):  # a local model loads while the index opens
            begin_loading()
        index = await stack.enter_async_context(opening)
        catalog = SqliteCatalogReader(settings.data_dir / DATABASE_FILE, index_id=index.id)
        if settings.database_url is None and catalog.is_current:
            yield SearchKit(embedder=embedder, index=index, catalog=catalog)
            return
    async with open_app(settings) as app:
        yield app.search_kit


@asynccontextmanager
async def open_answers(settings: Settings, search: SearchKit) -> AsyncIterator[AskKit]:
    """What an answer needs, with the engines that are configured; no model is called yet."""
    from bookwise.answering.ask import AskKit
    from bookwise.answering.extractive.answerer import ExtractiveAnswerer

    engines: dict[EngineName, Answerer] = {"extractive": ExtractiveAnswerer()}
    rewriter: Rewriter | None = None
    async with AsyncExitStack() as stack:
        if settings.openai_api_key is not None and settings.engine != "extractive":
            model = await stack.enter_async_context(_open_model(settings))
            engines |= _model_engines(model)
            rewriter = _rewriter(model)
        yield AskKit(
            search=search,
            engines=engines,
            engine=_engine(settings),
            rewriter=rewriter,
            unsupported=settings.unsupported,
            temperature=settings.temperature or 0.0,
            timeout_seconds=settings.answer_timeout_seconds,
        )


def _engine(settings: Settings) -> EngineName:
    if settings.engine == "auto":
        return "direct" if settings.openai_api_key is not None else "extractive"
    if settings.engine != "extractive" and settings.openai_api_key is None:
        raise Misconfigured(
            f"BOOKWISE_ENGINE={settings.engine} needs OPENAI_API_KEY, which is not set.",
            advice="Set it, or let Bookwise answer without a model: BOOKWISE_ENGINE=extractive.",
        )
    return settings.engine


def _open_model(settings: Settings) -> ModelClient:
    from bookwise.adapters.openai.client import ModelClient

    key = _key(settings.openai_api_key, "OPENAI_API_KEY", f"BOOKWISE_ENGINE={settings.engine}")
    return ModelClient(key, base_url=settings.openai_base_url, model=settings.openai_model)


def _model_engines(model: ModelClient) -> dict[EngineName, Answerer]:
    from bookwise.adapters.openai.agent import AgentAnswerer
    from bookwise.adapters.openai.direct import DirectAnswerer
    from bookwise.answering.guardrails import injection, leak

    agent = AgentAnswerer(model, input_check=injection, output_check=leak)
    return {"direct": DirectAnswerer(model), "agent": agent}


def _rewriter(model: ModelClient) -> Rewriter:
    from bookwise.adapters.openai.direct import ModelRewriter

    return ModelRewriter(model)


def _open_index(settings: Settings, embedder: Embedder) -> AbstractAsyncContextManager[LessonIndex]:
    """The index of this embedder's vectors. The caller holds the lock of the data folder."""
    if settings.qdrant_url:
        raise Misconfigured(
            "QDRANT_URL is set, but this version of Bookwise keeps its index in the data folder only.",
            advice="Unset QDRANT_URL.",
        )
    from bookwise.adapters.qdrant.embedded import open_index

    return open_index(index_folder(settings, embedder.facts.fingerprint), size=embedder.facts.size)


def index_folder(settings: Settings, fingerprint: str) -> Path:
    """Each embedder has a collection of its own: vectors of two models are never mixed."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", fingerprint)
    return settings.data_dir / "index" / f"{settings.qdrant_collection_name}-{name}"


def database_url(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    from bookwise.adapters.sql.address import sqlite_url

    return sqlite_url((settings.data_dir / DATABASE_FILE).absolute())


@asynccontextmanager
async def open_embedder(settings: Settings, *, inline: bool = False) -> AsyncIterator[Embedder]:
    """The configured embedder; nothing is loaded and nobody is called yet. `inline`: one question at a time."""
    match settings.embedder:
        case "minilm":
            from bookwise.adapters.embedders.minilm import MiniLM

            yield MiniLM(
                cache=settings.cache_folder,
                model_dir=settings.model_dir,
                workers=settings.embed_workers or None,
                inline=inline,
            )
        case "hashing":
            from bookwise.adapters.embedders.hashing import HashingEmbedder

            yield HashingEmbedder()
        case "openai":
            from bookwise.adapters.embedders.openai import OpenAIEmbedder

            async with OpenAIEmbedder(
                _key(settings.openai_api_key, "OPENAI_API_KEY", "BOOKWISE_EMBEDDER=openai"),
                base_url=settings.openai_base_url,
                model=settings.openai_embedding_model,
                patience=_patience(settings),
            ) as openai:
                yield openai
        case "cohere":
            from bookwise.adapters.embedders.cohere import CohereEmbedder

            async with CohereEmbedder(
                _key(settings.cohere_api_key, "COHERE_API_KEY", "BOOKWISE_EMBEDDER=cohere"),
                base_url=settings.cohere_base_url,
                model=settings.cohere_model,
                patience=_patience(settings),
            ) as cohere:
                yield cohere


def _key(key: SecretStr | None, name: str, wanted_by: str) -> SecretStr:
    if key is None:
        raise Misconfigured(
            f"{wanted_by} needs {name}, which is not set.",
            advice=f"Set {name}, or use what needs no key: BOOKWISE_EMBEDDER=minilm, BOOKWISE_ENGINE=extractive.",
        )
    return key


def _patience(settings: Settings) -> EmbeddingTimeouts:
    from bookwise.adapters.embedders.service import EmbeddingTimeouts

    return EmbeddingTimeouts(deadline=settings.embed_timeout_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCopy:
    """The folder to read a book from, and what could not be brought there."""

    root: Path
    notes: tuple[str, ...] = ()


async def local_copy(source: str, settings: Settings, *, on_page: OnPage | None = None) -> LocalCopy:
    """The source itself, or a mirror of the live site it names."""
    if "://" not in source:
        return LocalCopy(root=Path(source))
    from bookwise.adapters.site import SiteOptions, mirror

    options = SiteOptions(allow_private=settings.site_allow_private, max_pages=settings.site_max_pages)
    folder = settings.data_dir / "sites" / hashlib.sha256(source.encode()).hexdigest()[:16]
    report = await mirror(source, folder, options=options, on_page=on_page)
    notes = tuple(f"{page.url}: {page.reason} {page.detail}".strip() for page in (*report.failed, *report.skipped))
    return LocalCopy(root=folder, notes=notes)
