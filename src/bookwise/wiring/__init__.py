"""Settings → App: the only package that creates adapters.

Each module of the package loads one heavy library, and is imported by the function that needs it. So a command loads
only what it uses: SQLAlchemy takes 0.2 s, onnxruntime 0.1 s, the OpenAI client 0.7 s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bookwise.adapters.collection_guard import CollectionGuard, GuardedCatalogReader
from bookwise.adapters.data_folder import lock_data_folder
from bookwise.adapters.disk_space import require_space
from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.adapters.embedders.minilm import MiniLM
from bookwise.adapters.qdrant.collections import configured_name, index_ids, index_name
from bookwise.adapters.qdrant.packages import require_client
from bookwise.adapters.sql.address import sqlite_url
from bookwise.adapters.sql.catalog_reader import SqliteCatalogReader
from bookwise.domain.errors import DataFolderBusy
from bookwise.retrieval.checked_catalog import CheckedCatalog
from bookwise.retrieval.search import SearchKit
from bookwise.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bookwise.answering.ask import AskKit
    from bookwise.ingestion.stages import IngestionKit
    from bookwise.ingestion.step_store import StepStore
    from bookwise.ports import (
        Catalog,
        CatalogReader,
        DeliveryStore,
        Embedder,
        JobStore,
        Journal,
        KeyChanges,
        KeyStore,
        LessonIndex,
        RateLimits,
        Reranker,
        ResponseStore,
        ThreadStore,
        ValidationStore,
        VectorCache,
    )
    from bookwise.wiring.stores import Stores

DATABASE_FILE = "bookwise.db"
INDEX_FOLDER = "index"

OnPage = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsKit:
    """The records in the database, for operations that need no index and no embedder."""

    catalog: Catalog  #: of the books; which lessons are live depends on the index
    keys: KeyStore
    journal: Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Everything that the command line, the API and the library use, opened."""

    settings: Settings
    embedder: Embedder
    vectors: VectorCache
    index: LessonIndex
    catalog: Catalog
    reranker: Reranker | None
    reader: CatalogReader  #: the same catalog for readers: refuses a book that is incomplete in the index
    jobs: JobStore
    threads: ThreadStore
    keys: KeyStore
    key_changes: KeyChanges
    responses: ResponseStore
    journal: Journal
    validations: ValidationStore
    rate_limits: RateLimits
    deliveries: DeliveryStore
    check_database: Callable[[], Awaitable[tuple[str, ...]]]  #: → what is wrong in its file
    steps: StepStore | None = None  #: of jobs that workers share; None: this process runs its jobs itself

    @property
    def search_kit(self) -> SearchKit:
        return SearchKit(
            embedder=self.embedder,
            index=self.index,
            catalog=self.reader,
            reranker=self.reranker,
            rerank_seconds=self.settings.rerank_timeout_seconds,
        )

    @property
    def records(self) -> RecordsKit:
        return RecordsKit(catalog=self.catalog, keys=self.keys, journal=self.journal)

    @property
    def ingestion_kit(self) -> IngestionKit:
        from bookwise.ingestion.stages import IngestionKit  # loads the parsers: 0.3 s, which a search does not need

        return IngestionKit(
            embedder=self.embedder,
            vectors=self.vectors,
            index=self.index,
            catalog=self.catalog,
            jobs=self.jobs,
            require_space=self.require_space,
        )

    def require_space(self) -> None:
        """Raises `DiskFull` if the disk with the data folder is nearly full. Servers check theirs themselves."""
        if self.settings.needs_data_folder:
            require_space(self.settings.data_dir)


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    index: LessonIndex | None = None,
    take_over_jobs: bool = False,
) -> AsyncIterator[App]:
    """Locks the data folder and opens everything in it. If all data is on servers, no folder is used.

    `embedder` and `index` replace the configured ones; the caller closes them. Jobs that an earlier process left
    queued or running are marked as failed, unless `take_over_jobs` is set or other processes may run them. Raises
    `DataFolderBusy` while another process has the data folder.
    """
    async with AsyncExitStack() as stack:
        if settings.needs_data_folder:
            stack.enter_context(lock_data_folder(settings.data_dir))
        if embedder is None:
            embedder = await stack.enter_async_context(open_embedder(settings))
        if index is None:
            index = await stack.enter_async_context(open_configured_index(settings, embedder))
        stores = await stack.enter_async_context(_open_stores(settings))
        jobs = stores.jobs(index.id)
        if settings.needs_data_folder and not take_over_jobs:  # no other process can be running one
            await jobs.interrupt_running()
        exclusive = settings.database_url is None  # the database is in the locked folder
        catalog = stores.guarded_catalog(
            index,
            exclusive=exclusive,
            guard=_guard(settings, embedder, stores.catalog),
            own_indexes=_own_indexes(settings, index),
        )
        yield App(
            settings=settings,
            embedder=embedder,
            vectors=stores.vectors(),
            index=index,
            catalog=catalog,
            reranker=await stack.enter_async_context(open_configured_reranker(settings)),
            reader=CheckedCatalog(catalog, index, catalog.live_chunks),
            jobs=jobs,
            threads=stores.threads(exclusive=exclusive),
            keys=stores.keys(),
            key_changes=stores.key_changes(),
            responses=await stores.responses(kept_hours=settings.retain_responses_hours, exclusive=exclusive),
            journal=stores.journal(),
            validations=stores.validations(),
            rate_limits=stores.rate_limits(),
            deliveries=stores.deliveries(),
            check_database=stores.check_integrity,
            steps=None if settings.needs_data_folder else await stores.steps(index.id, catalog),
        )


@asynccontextmanager
async def open_records(settings: Settings) -> AsyncIterator[RecordsKit]:
    """Locks the data folder and opens only its database: opening an index takes a second per 100,000 chunks and more.

    Raises `DataFolderBusy` while another process has the data folder.
    """
    async with AsyncExitStack() as stack:
        if settings.needs_data_folder:
            stack.enter_context(lock_data_folder(settings.data_dir))
        stores = await stack.enter_async_context(_open_stores(settings))
        yield RecordsKit(catalog=stores.catalog(""), keys=stores.keys(), journal=stores.journal())


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogKit:
    """The books and jobs of a data folder, without its index and its embedder."""

    settings: Settings
    catalog: Catalog
    jobs: JobStore
    find_indexes: Callable[[], Awaitable[Mapping[str, Catalog]]]

    async def indexes(self) -> Mapping[str, Catalog]:
        """The catalog as each index of the data folder or server sees it, by the index's name."""
        return await self.find_indexes()


@asynccontextmanager
async def open_catalog(settings: Settings) -> AsyncIterator[CatalogKit]:
    """Opens the catalog for reading, also while another process has the data folder.

    When no process has it, jobs that were left queued or running are marked as failed, as `open_app` does.
    """
    from bookwise.wiring.catalog_stores import open_catalog_stores  # loads SQLAlchemy: 0.2 s

    async with AsyncExitStack() as stack:
        is_locked = lock_or_read(settings, stack)
        stores = await stack.enter_async_context(open_catalog_stores(database_url(settings)))
        if is_locked:
            for index_id in index_ids(settings.data_dir / INDEX_FOLDER).values():
                await stores.jobs(index_id).interrupt_running()

        async def find_indexes() -> dict[str, Catalog]:
            return {name: stores.catalog(index_id) for name, index_id in (await _index_ids(settings)).items()}

        yield CatalogKit(settings=settings, catalog=stores.catalog(""), jobs=stores.jobs(), find_indexes=find_indexes)


async def _index_ids(settings: Settings, fingerprint: str = "") -> Mapping[str, str]:
    """The id of each index in the data folder or on the server, by name; with `fingerprint`, of one embedder."""
    if settings.qdrant_url is None:
        found = index_ids(settings.data_dir / INDEX_FOLDER)
        return {name: found[name] for name in found if not fingerprint or configured_name(name, fingerprint)}
    require_client()
    from bookwise.wiring.server_index import find_identities  # loads the Qdrant client: 1.4 s

    return await find_identities(settings, fingerprint)


def lock_or_read(settings: Settings, stack: AsyncExitStack) -> bool:
    """Whether this process got the lock. Without it, a SQLite file must be complete: opening it then only reads."""
    if not settings.needs_data_folder:
        return False
    try:
        stack.enter_context(lock_data_folder(settings.data_dir))
    except DataFolderBusy:
        if settings.database_url is None and not _sqlite_reader(settings, "").is_current:
            raise
        return False
    return True


@asynccontextmanager
async def open_search(settings: Settings) -> AsyncIterator[SearchKit]:
    """What a single search needs, opened as fast as possible; the whole app where a fast start is not possible."""
    if settings.database_url is not None:
        async with open_app(settings) as app:
            yield app.search_kit
        return
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_folder(settings.data_dir, writes=False))
        embedder = await stack.enter_async_context(open_embedder(settings, inline=True))
        opening = open_configured_index(settings, embedder)
        if begin_loading := getattr(embedder, "begin_loading", None):  # a local model loads while the index opens
            begin_loading()
        index = await stack.enter_async_context(opening)
        open_catalog = partial(_sqlite_reader, settings)
        catalog = open_catalog(index.id)
        if catalog.is_current:
            guarded = GuardedCatalogReader(catalog, _guard(settings, embedder, open_catalog))
            yield SearchKit(
                embedder=embedder,
                index=index,
                catalog=CheckedCatalog(guarded, index, catalog.live_chunks),
                reranker=await stack.enter_async_context(open_configured_reranker(settings)),
                rerank_seconds=settings.rerank_timeout_seconds,
            )
            return
    async with open_app(settings) as app:
        yield app.search_kit


def open_answers(settings: Settings, search: SearchKit) -> AbstractAsyncContextManager[AskKit]:
    """What an answer needs, with the configured engines. No model is called yet."""
    from bookwise.wiring.answers import open_ask_kit  # loads the answer pipeline: 0.1 s

    return open_ask_kit(settings, search)


def open_configured_index(settings: Settings, embedder: Embedder) -> AbstractAsyncContextManager[LessonIndex]:
    """The index of this embedder's vectors: on the server, or in the data folder, whose lock the caller holds."""
    if settings.qdrant_url is not None:
        require_client()
        from bookwise.wiring.server_index import open_on_server  # loads the Qdrant client: 1.4 s and 62 MB

        return open_on_server(settings, embedder.facts)
    from bookwise.adapters.qdrant.embedded import open_index  # loads the vector index: 11 ms

    return open_index(index_folder(settings, embedder.facts.fingerprint), size=embedder.facts.size)


def index_folder(settings: Settings, fingerprint: str) -> Path:
    """Where the index of the configured collection is, for one embedder."""
    return settings.data_dir / INDEX_FOLDER / index_name(settings.qdrant_collection_name, fingerprint)


def _guard(settings: Settings, embedder: Embedder, open_catalog: Callable[[str], CatalogReader]) -> CollectionGuard:
    """Knows the catalog as the other collections with vectors of this embedder see it."""
    configured, fingerprint = settings.qdrant_collection_name, embedder.facts.fingerprint

    async def find_others() -> dict[str, CatalogReader]:
        names = {configured_name(name, fingerprint): found for name, found in (await indexes()).items()}
        return {name: open_catalog(index_id) for name, index_id in names.items() if name != configured}

    indexes = partial(_index_ids, settings, fingerprint)
    return CollectionGuard(configured, find_others)


def _own_indexes(settings: Settings, index: LessonIndex) -> Callable[[], frozenset[str]] | None:
    """Finds the ids of the indexes in this data folder. None if no other folder can share the database, or if the index
    is on a server."""
    if settings.database_url is None or settings.qdrant_url is not None:
        return None
    return lambda: frozenset(index_ids(settings.data_dir / INDEX_FOLDER).values()) | {index.id}


def _sqlite_reader(settings: Settings, index_id: str) -> SqliteCatalogReader:
    return SqliteCatalogReader(settings.data_dir / DATABASE_FILE, index_id=index_id)


def _open_stores(settings: Settings) -> AbstractAsyncContextManager[Stores]:
    from bookwise.wiring.stores import open_stores  # loads SQLAlchemy: 0.2 s

    return open_stores(database_url(settings))


def database_url(settings: Settings) -> str:
    """The configured database, or the SQLite file in the data folder."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return sqlite_url((settings.data_dir / DATABASE_FILE).absolute())


@asynccontextmanager
async def open_embedder(settings: Settings, *, inline: bool = False) -> AsyncIterator[Embedder]:
    """The configured embedder. No model is loaded and no service called yet. `inline`: one question at a time."""
    match settings.embedder.partition(":")[0]:
        case "minilm":
            yield MiniLM(
                cache=settings.cache_folder,
                model_dir=settings.model_dir,
                workers=settings.embed_workers or None,
                inline=inline,
            )
        case "hashing":
            yield HashingEmbedder()
        case "openai" | "cohere" | "fastembed":
            from bookwise.wiring.embedders import other_embedder  # loads httpx2, numpy and pydantic: 0.4 s

            async with other_embedder(settings) as embedder:
                yield embedder


def open_configured_reranker(settings: Settings) -> AbstractAsyncContextManager[Reranker | None]:
    """The configured reranker, or None. No model is loaded and no service called yet."""
    if settings.reranker is None:
        return nullcontext()
    from bookwise.wiring.rerankers import open_reranker  # loads httpx2 and pydantic: 0.3 s

    return open_reranker(settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCopy:
    """The folder to read a book from, and notes on pages that could not be fetched."""

    root: Path
    notes: tuple[str, ...] = ()


async def local_copy(source: str, settings: Settings, *, on_page: OnPage | None = None) -> LocalCopy:
    """The folder itself, or a local mirror of the site at this URL."""
    if "://" not in source:
        return LocalCopy(root=Path(source))
    from bookwise.adapters.site import SiteOptions, mirror  # loads httpx2: 0.1 s

    options = SiteOptions(allow_private=settings.site_allow_private, max_pages=settings.site_max_pages)
    root = settings.data_dir if settings.needs_data_folder else settings.cache_folder
    folder = root / "sites" / hashlib.sha256(source.encode()).hexdigest()[:16]
    report = await mirror(source, folder, options=options, on_page=on_page)
    notes = tuple(f"{page.url}: {page.reason} {page.detail}".strip() for page in (*report.failed, *report.skipped))
    return LocalCopy(root=folder, notes=notes)
