"""A database URL → the books and jobs in it. Loads SQLAlchemy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.jobs import SqlJobs


@dataclass(frozen=True, slots=True)
class CatalogStores:
    """The catalog and the jobs in one open database."""

    database: Database

    def catalog(self, index_id: str) -> SqlCatalog:
        """The catalog as this index sees it."""
        return SqlCatalog(self.database, index_id=index_id, exclusive=False)

    def jobs(self, holder: str = "") -> SqlJobs:
        """The jobs; new ones belong to the index `holder`."""
        return SqlJobs(self.database, holder=holder)


@asynccontextmanager
async def open_catalog_stores(url: str) -> AsyncIterator[CatalogStores]:
    """The books and jobs in the database at `url`, migrated to the newest version; closed at the end of the block."""
    async with open_database(url) as database:
        yield CatalogStores(database)
