"""Changes of keys by other processes are noticed within about a second, by notification or by reading a count."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest

from bookwise.adapters.sql import key_changes
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts
from bookwise.adapters.sql.key_changes import PostgresKeyChanges
from bookwise.adapters.sql.keys import SqlKeys
from tests.support.databases import ask, run
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import Postgres, running_postgres

pytestmark = pytest.mark.anyio

SHORT = DatabaseTimeouts(busy=0.2, connect=2, statement=0.5, pool=0.3)
LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"

Noticed = Callable[[], Any]


@pytest.fixture
def url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.empty_database(like=migrated_postgres) as new:
        yield new


@asynccontextmanager
async def watching(database: Database) -> AsyncIterator[Noticed]:
    """Calls `noticed` to wait for the next change."""
    send, receive = anyio.create_memory_object_stream[None](100)

    async def watch() -> None:
        async with aclosing(PostgresKeyChanges(database, SHORT).watch()) as changes:
            async for _ in changes:
                await send.send(None)

    async def noticed() -> None:
        with anyio.fail_after(10):
            await receive.receive()
        while receive.statistics().current_buffer_used:
            receive.receive_nowait()

    async with send, receive, anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield noticed
        tasks.cancel_scope.cancel()


async def change_in_every_way(database: Database, noticed: Noticed) -> None:
    keys = SqlKeys(database)
    await noticed()  # the state at the start
    key, _ = await keys.create("a key", "reader")
    await noticed()
    await keys.rotate(key.id)
    await noticed()
    await keys.revoke(key.id)
    await noticed()
    await run(database, "UPDATE api_keys SET revoked_at = NULL")  # by hand, or by an older release
    await noticed()


async def test_a_change_by_another_process_arrives_as_a_notification(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_changes, "HEARTBEAT_SECONDS", 3600.0)
    monkeypatch.setattr(key_changes, "POLL_SECONDS", 3600.0)
    async with open_database(url) as here, open_database(url) as there, watching(here) as noticed:
        await change_in_every_way(there, noticed)
        assert await ask(there, LISTENERS) == 1


@pytest.mark.slow
async def test_behind_a_pooler_changes_are_read_every_second(url: str, pgbouncer: PgBouncer) -> None:
    async with (
        open_database(pgbouncer.url(url)) as here,
        open_database(url) as there,
        watching(here) as noticed,
    ):
        await change_in_every_way(there, noticed)
        assert await ask(there, LISTENERS) == 0


async def test_a_listener_that_is_cut_off_listens_again_and_misses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_changes, "HEARTBEAT_SECONDS", 3600.0)
    async with open_database(url) as here, open_database(url) as there, watching(here) as noticed:
        keys = SqlKeys(there)
        await noticed()
        await ask(there, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
        await keys.create("while no process listened", "reader")
        await noticed()
        with anyio.fail_after(10):
            while await ask(there, LISTENERS) == 0:  # noqa: ASYNC110 - the server sends no event
                await anyio.sleep(0.01)
        await keys.create("later", "reader")
        await noticed()


@pytest.mark.slow
async def test_a_change_is_noticed_after_a_restart_of_the_server() -> None:
    with running_postgres() as server, server.new_database() as url:
        async with open_database(url, timeouts=SHORT) as here, watching(here) as noticed:
            await noticed()
            server.stop()
            await anyio.sleep(1.2)  # long enough for an attempt that fails
            server.start()
            async with open_database(url) as there:
                await SqlKeys(there).create("after the restart", "reader")
            await noticed()


async def test_a_change_that_is_rolled_back_is_no_change(url: str) -> None:
    async with open_database(url) as database:
        before = await ask(database, "SELECT coalesce(sum(value), 0) FROM facts")

        def fail(connection: Any) -> None:
            connection.exec_driver_sql(
                "INSERT INTO api_keys (key_id, name, role, books, origins, rate_per_minute, secret_hash, created_at)"
                " VALUES ('k', 'n', 'reader', '[]', '[]', 1, 'h', now())"
            )
            raise LookupError("enough")

        with pytest.raises(LookupError):
            await database.write(fail)
        assert await ask(database, "SELECT coalesce(sum(value), 0) FROM facts") == before
