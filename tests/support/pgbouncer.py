"""A real PgBouncer in transaction mode in front of the PostgreSQL of the tests.

After every transaction the session of the server is reset, so code that relies on its state fails at once.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.support.postgres import Postgres

CONFIGURATION = """\
[databases]
* = host={server} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 6432
auth_type = any
pool_mode = transaction
server_reset_query = DISCARD ALL
server_reset_query_always = 1
default_pool_size = 10
max_client_conn = 500
log_connections = 0
log_disconnections = 0
logfile = {folder}/log
"""


@dataclass(frozen=True, slots=True)
class PgBouncer:
    """A running pooler."""

    folder: Path

    def url(self, direct: str) -> str:
        """The URL of this database through the pooler."""
        return f"postgresql://postgres:@{urlsplit(direct).path}?host={self.folder}&port=6432"


def program() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def running_pgbouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    """Skips, loudly, where the program is not installed."""
    binary = program()
    if binary is None:
        pytest.skip("PgBouncer is not installed: the tests through a pooler are left out (apt-get install pgbouncer).")
    folder = Path(tempfile.mkdtemp(prefix="bookwise-pgbouncer-"))
    folder.chmod(0o777)
    configuration = folder / "pgbouncer.ini"
    server = Path(parse_qs(urlsplit(postgres.server.get_uri()).query)["host"][0])
    configuration.write_text(CONFIGURATION.format(server=server, folder=folder))
    user = server.stat().st_uid if os.getuid() == 0 else None  # it refuses to run as root
    process = subprocess.Popen([binary, "-q", str(configuration)], user=user)
    try:
        pooler = PgBouncer(folder)
        _wait_until_it_answers(pooler.url(postgres.server.get_uri()), process)
        yield pooler
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"PgBouncer ended with {process.returncode}.")
        with suppress(psycopg.OperationalError), psycopg.connect(url):
            return
        time.sleep(0.02)
    raise RuntimeError("PgBouncer does not answer.")
