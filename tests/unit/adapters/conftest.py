"""Databases for the adapters' own tests."""

from tests.support.databases import (
    database,
    database_url,
    migrated_postgres,
    migrated_sqlite,
    migrated_url,
    pgbouncer,
    postgres,
)

__all__ = ["database", "database_url", "migrated_postgres", "migrated_sqlite", "migrated_url", "pgbouncer", "postgres"]
