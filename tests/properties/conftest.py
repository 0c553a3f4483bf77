"""Databases for the properties that must hold on each of them."""

from tests.support.databases import migrated_postgres, migrated_sqlite, migrated_url, postgres

__all__ = ["migrated_postgres", "migrated_sqlite", "migrated_url", "postgres"]
