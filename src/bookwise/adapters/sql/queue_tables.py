"""The tables of the queue library (procrastinate) in the same database, created and migrated by its own scripts.

They are in the same database so that a step is queued in the transaction that creates it.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.fact_names import QUEUE_SCRIPTS
from bookwise.domain.errors import Misconfigured

_LOCK = text("SELECT pg_advisory_xact_lock(7020863915)")
_READ_APPLIED = text("SELECT value FROM facts WHERE key = :key")
_STORE_APPLIED = text(
    "INSERT INTO facts (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value"
)


async def prepare_queue_tables(database: Database) -> None:
    """Creates the tables, or migrates those of an older version of the library. Safe with concurrent callers."""
    folder = _script_folder()
    scripts = sorted((folder / "migrations").glob("*.sql"))
    if await database.read(_applied) < len(scripts):
        await database.write(_apply, folder / "schema.sql", scripts)


def _script_folder() -> Path:
    package = find_spec("procrastinate")  # imports nothing
    if package is None or package.origin is None:
        raise Misconfigured(
            "Jobs that workers share need the package procrastinate, which is not installed.",
            advice="Run `pip install 'bookwise[postgres]'`.",
        )
    return Path(package.origin).parent / "sql"


def _applied(connection: Connection) -> int:
    return connection.execute(_READ_APPLIED, {"key": QUEUE_SCRIPTS}).scalar() or 0


def _apply(connection: Connection, schema: Path, scripts: list[Path]) -> None:
    connection.execute(_LOCK)
    applied = _applied(connection)
    for script in [schema] if not applied else scripts[applied:]:
        _run_script(connection, script.read_text(encoding="utf-8"))
    if applied < len(scripts):
        connection.execute(_STORE_APPLIED, {"key": QUEUE_SCRIPTS, "value": len(scripts)})


def _run_script(connection: Connection, script: str) -> None:
    """Runs several statements at once, which only the driver itself can do."""

    async def execute(driver: Any) -> None:
        await driver.execute(script)

    dbapi_connection: Any = connection.connection.dbapi_connection
    dbapi_connection.run_async(execute)
