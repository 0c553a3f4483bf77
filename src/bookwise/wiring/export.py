"""Settings → the database of readers' records, opened for an export. Loads SQLAlchemy."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bookwise.domain.errors import NotFound
from bookwise.settings import Settings
from bookwise.wiring import DATABASE_FILE, database_url, lock_or_read
from bookwise.wiring.catalog_stores import CatalogStores, open_catalog_stores


@asynccontextmanager
async def open_export(settings: Settings) -> AsyncIterator[CatalogStores]:
    """Opens the database for reading, also while another process has the data folder. Raises `NotFound` if there is
    none: an export must not create it."""
    if settings.database_url is None and not (settings.data_dir / DATABASE_FILE).exists():
        raise NotFound(f"There is no database in {settings.data_dir}.", advice="Check --data-dir or BOOKWISE_DATA_DIR.")
    async with AsyncExitStack() as stack:
        lock_or_read(settings, stack)
        yield await stack.enter_async_context(open_catalog_stores(database_url(settings)))
