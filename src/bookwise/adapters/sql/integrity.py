"""Checks the structure of a whole database file."""

from sqlalchemy import Connection

from bookwise.adapters.sql.database import Database

MESSAGES_MAX = 10


async def integrity_problems(database: Database) -> tuple[str, ...]:
    """What SQLite finds wrong in its file: pages, rows, indexes and references. A PostgreSQL server checks its pages
    itself whenever it reads them."""
    if database.address.kind != "sqlite":
        return ()
    return await database.read(_check)


def _check(connection: Connection) -> tuple[str, ...]:
    found = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA quick_check({MESSAGES_MAX})")]
    problems = [f"bookwise.db: {message}" for message in found if message != "ok"]
    orphans = {str(row[0]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")}
    problems += [f"bookwise.db: rows in {table} refer to nothing" for table in sorted(orphans)]
    return tuple(problems)
