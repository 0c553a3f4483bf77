"""The only place that knows the backends. Each fixture is one port, run for every backend."""

import pytest

from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.vectors import SqlVectorCache
from bookwise.ports import Catalog, JobStore, VectorCache
from tests.support.databases import (
    database,
    database_url,
    migrated_postgres,
    migrated_sqlite,
    migrated_url_or_pooler,
    pgbouncer,
    postgres,
)

__all__ = [
    "database",
    "database_url",
    "migrated_postgres",
    "migrated_sqlite",
    "migrated_url_or_pooler",
    "pgbouncer",
    "postgres",
]


@pytest.fixture(params=["exclusive", "shared"])
def catalog(request: pytest.FixtureRequest, database: Database) -> Catalog:
    return SqlCatalog(database, index_id="index-1", exclusive=request.param == "exclusive")


@pytest.fixture
def jobs(database: Database) -> JobStore:
    return SqlJobs(database)


@pytest.fixture
def vectors(database: Database) -> VectorCache:
    return SqlVectorCache(database)
