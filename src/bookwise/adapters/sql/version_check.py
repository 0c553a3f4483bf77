"""Which shape of the tables this program knows; kept apart so that Alembic is loaded only to change it."""

from sqlalchemy import Connection, text

from bookwise.adapters.sql.revisions import HEAD, HISTORY
from bookwise.domain.errors import Misconfigured

_TABLE_EXISTS = {
    "sqlite": text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"),
    "postgresql": text("SELECT 1 WHERE to_regclass('alembic_version') IS NOT NULL"),
}


def stored_version(connection: Connection) -> str | None:
    """The version the database is at; None when it holds no tables yet."""
    if connection.execute(_TABLE_EXISTS[connection.dialect.name]).first() is None:
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def refuse_unknown(version: str | None, database: str) -> None:
    """`Misconfigured` for a database that a newer program has changed."""
    if version is not None and version not in HISTORY:
        raise Misconfigured(
            f"The database {database} is at version {version}, but this program knows only up to {HEAD}.",
            advice="Start the newer program, or open another database. Nothing was changed.",
        )
