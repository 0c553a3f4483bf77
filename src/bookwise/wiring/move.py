"""Settings and a target → both ends of a move, opened. Loads SQLAlchemy, and the Qdrant client for an index.

One end is always the data folder, the other a server. So a move does not depend on which of them the settings name now.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.adapters.qdrant.collections import IDENTITY_FILE
from bookwise.adapters.sql.address import Address, parse_address
from bookwise.adapters.sql.database import Database, open_database
from bookwise.domain.books import EmbedderFacts
from bookwise.domain.errors import DataFolderBusy, InvalidInput, NotFound
from bookwise.ingestion.copy_book import IndexedBooks
from bookwise.ports import JobStore
from bookwise.settings import Settings
from bookwise.wiring import database_url, index_folder, open_configured_index, open_embedder
from bookwise.wiring.stores import open_stores


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMove:
    """Two indexes with vectors of one embedder, and the database that says which lessons are live in each."""

    source: IndexedBooks
    target: IndexedBooks
    facts: EmbedderFacts
    jobs: JobStore


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseMove:
    """Two open databases of the newest version."""

    source: Database
    target: Database
    jobs: JobStore  #: of the source


@asynccontextmanager
async def open_index_move(settings: Settings, *, to_server: bool, url: str | None) -> AsyncIterator[IndexMove]:
    """The index in the data folder and the one on the server; `url` replaces the configured address."""
    address = url or settings.qdrant_url
    if address is None:
        raise _no_address("a Qdrant server", "QDRANT_URL")
    local, remote = replace(settings, qdrant_url=None), replace(settings, qdrant_url=address)
    async with AsyncExitStack() as stack:
        stack.enter_context(_locked(settings.data_dir))
        embedder = await stack.enter_async_context(open_embedder(settings))
        folder = index_folder(local, embedder.facts.fingerprint)
        if to_server:
            _require_file(folder / IDENTITY_FILE, f"The data folder {settings.data_dir} has no index of this embedder.")
        if settings.database_url is None:
            _require_database(parse_address(database_url(settings)))
        stores = await stack.enter_async_context(open_stores(database_url(settings)))
        ends = []
        for name, end in ((f"the index in {settings.data_dir}", local), (f"the index on {_host(address)}", remote)):
            index = await stack.enter_async_context(open_configured_index(end, embedder))
            ends.append(IndexedBooks(name=name, index=index, catalog=stores.catalog(index.id)))
        await stores.jobs(ends[0].index.id).interrupt_running()  # with the lock, no process can be running one
        source, target = ends if to_server else reversed(ends)
        yield IndexMove(source=source, target=target, facts=embedder.facts, jobs=stores.jobs())


@asynccontextmanager
async def open_database_move(settings: Settings, *, to_server: bool, url: str | None) -> AsyncIterator[DatabaseMove]:
    """The SQLite file and the PostgreSQL database; `url` replaces the configured address."""
    configured = settings.database_url.get_secret_value() if settings.database_url else None
    remote = url or configured
    if remote is None or parse_address(remote).kind != "postgresql":
        raise _no_address("a PostgreSQL database", "DATABASE_URL")
    is_local = configured is not None and parse_address(configured).kind == "sqlite"
    local = database_url(settings if is_local else replace(settings, database_url=None))
    async with AsyncExitStack() as stack:
        stack.enter_context(_locked(settings.data_dir))
        if to_server:
            _require_database(parse_address(local))
        source_url, target_url = (local, remote) if to_server else (remote, local)
        source = await stack.enter_async_context(open_stores(source_url))
        target = await stack.enter_async_context(open_database(target_url))
        yield DatabaseMove(source=source.database, target=target, jobs=source.jobs())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the data folder, so that no service or command changes it during the move."""
    try:
        lock = ExitStack()
        lock.enter_context(lock_data_folder(folder))
    except DataFolderBusy as busy:
        raise DataFolderBusy(busy.message, advice="Stop that process for the time of the move.") from None
    with lock:
        yield


def _require_database(address: Address) -> None:
    _require_file(Path(address.location), f"There is no database {address.name}.")


def _require_file(path: Path, message: str) -> None:
    """A move must not create its source: an empty one would hide a wrong data folder."""
    if not path.exists():
        raise NotFound(message, advice="Check BOOKWISE_DATA_DIR, BOOKWISE_EMBEDDER and QDRANT_COLLECTION_NAME.")


def _host(url: str) -> str:
    """Host and port, without secrets."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _no_address(server: str, setting: str) -> InvalidInput:
    return InvalidInput(f"The address of {server} is missing.", advice=f"Add --url ADDRESS, or set {setting}.")
