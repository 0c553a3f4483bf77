"""An older or empty database → one with the newest tables, safe against concurrent migrations."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from bookwise.adapters.sql.revisions import HEAD
from bookwise.adapters.sql.version_check import check_known_version, stored_version

ADVISORY_LOCK = text("SELECT pg_advisory_xact_lock(7020863914)")
# A process that starts waits for one that migrates. A migration may take long, but not make readers wait for long.
_WAIT_FOR_OTHERS = "SET LOCAL lock_timeout = '10min'; SET LOCAL statement_timeout = 0"
_WAIT_FOR_READERS = "SET LOCAL lock_timeout = '10s'"

# Alembic keeps the running migration in module globals, so a process can run only one at a time.
MIGRATION_LOCK = Lock()


def script_config() -> Config:
    """The settings that an alembic.ini file would hold."""
    config = Config()
    config.set_main_option("script_location", "bookwise.adapters.sql:migrations")
    config.set_main_option("path_separator", "os")
    return config


def migrate(connection: Connection, database: str) -> None:
    """Migrates the tables to `HEAD` in the caller's transaction, which blocks all other writers."""
    if connection.dialect.name == "postgresql":
        with _no_time_limit(connection):
            connection.exec_driver_sql(_WAIT_FOR_OTHERS)
            connection.execute(ADVISORY_LOCK)
            connection.exec_driver_sql(_WAIT_FOR_READERS)
            _upgrade(connection, database)
    else:
        _upgrade(connection, database)


@contextmanager
def _no_time_limit(connection: Connection) -> Iterator[None]:
    driver: Any = connection.connection.driver_connection
    limit, driver.limit = driver.limit, None
    try:
        yield
    finally:
        driver.limit = limit


def _upgrade(connection: Connection, database: str) -> None:
    version = stored_version(connection)
    check_known_version(version, database)
    if version == HEAD:
        return
    config = script_config()
    config.attributes["connection"] = connection
    logging.getLogger(__name__).info("database.migrated", extra={"from": version, "to": HEAD})
    command.upgrade(config, HEAD)
