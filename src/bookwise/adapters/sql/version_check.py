"""The table version of a database. Separate from `migrate`, which loads Alembic."""

from sqlalchemy import Connection, text

from bookwise.adapters.sql.revisions import HEAD, HISTORY
from bookwise.domain.errors import Misconfigured

_TABLE_EXISTS = {
    "sqlite": text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"),
    "postgresql": text("SELECT 1 WHERE to_regclass('alembic_version') IS NOT NULL"),
}


def stored_version(connection: Connection) -> str | None:
    """The table version of the database; None for a database without tables."""
    if connection.execute(_TABLE_EXISTS[connection.dialect.name]).first() is None:
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def check_known_version(version: str | None, database: str) -> None:
    """`Misconfigured` for a database that a newer version of Bookwise has migrated."""
    if version is not None and version not in HISTORY:
        raise Misconfigured(
            f"The database {database} has table version {version}. This version of Bookwise supports up to {HEAD}.",
            advice="Install a newer version of Bookwise, or use another database. Nothing was changed.",
        )
