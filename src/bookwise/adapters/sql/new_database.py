"""Creates the newest tables in a new SQLite file without loading Alembic (0.2 s and 13 MiB).

The statements in new_database.sql give the same result as the migrations; a test compares the two. After adding a
migration, run `python -m bookwise.adapters.sql.new_database` to regenerate the file.
"""

from pathlib import Path

from sqlalchemy import Connection, create_engine

from bookwise.adapters.sql.version_check import stored_version

SCRIPT = Path(__file__).with_suffix(".sql")
_END = ";\n"
_SCHEMA = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"


def create_tables(connection: Connection) -> str | None:
    """Creates the tables in the caller's transaction unless they exist; returns the table version."""
    if stored_version(connection) is None:
        for statement in SCRIPT.read_text(encoding="utf-8").split(_END):
            connection.exec_driver_sql(statement)
    return stored_version(connection)


def script(connection: Connection) -> str:
    """The statements that create the tables of this database and store its version."""
    statements = [str(sql) for sql in connection.exec_driver_sql(_SCHEMA).scalars()]
    statements.append(f"INSERT INTO alembic_version VALUES ('{stored_version(connection)}')")
    lines = _END.join(statements).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def migrated_script() -> str:
    """The script for a database created by all migrations."""
    from bookwise.adapters.sql.migrate import migrate  # loads Alembic: 0.2 s

    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        migrate(connection, "in memory")
        statements = script(connection)
    engine.dispose()
    return statements


if __name__ == "__main__":
    SCRIPT.write_text(migrated_script(), encoding="utf-8")
