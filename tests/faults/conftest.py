"""Databases for the faults that each of them must survive."""

from tests.support.databases import migrated_postgres, migrated_sqlite, migrated_url, postgres

__all__ = ["migrated_postgres", "migrated_sqlite", "migrated_url", "postgres"]
