"""Turns an older or empty database into one of the newest version, once, whoever else tries."""

import logging
from threading import Lock

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from bookwise.adapters.sql.revisions import HEAD
from bookwise.adapters.sql.version_check import refuse_unknown, stored_version

ADVISORY_LOCK = text("SELECT pg_advisory_xact_lock(7020863914)")

# Alembic keeps the migration it runs in module globals, so one process runs one at a time.
ONE_AT_A_TIME = Lock()


def script_config() -> Config:
    """What an alembic.ini would say."""
    config = Config()
    config.set_main_option("script_location", "bookwise.adapters.sql:migrations")
    config.set_main_option("path_separator", "os")
    return config


def migrate(connection: Connection, database: str) -> None:
    """Brings the tables to `HEAD` inside the caller's transaction, which holds off all other writers."""
    if connection.dialect.name == "postgresql":
        connection.execute(ADVISORY_LOCK)
    version = stored_version(connection)
    refuse_unknown(version, database)
    if version == HEAD:
        return
    config = script_config()
    config.attributes["connection"] = connection
    logging.getLogger(__name__).info("database.migrated", extra={"from": version, "to": HEAD})
    command.upgrade(config, HEAD)
