"""Rate limits that several processes share: exact together, on the server's clock, and free of those that died."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier

import anyio
import psycopg
import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.engines import DatabaseTimeouts
from bookwise.adapters.sql.rate_limits import SqlRateLimits
from bookwise.domain.access import Caller
from bookwise.domain.errors import StoreUnavailable, TooManyRequests
from tests.support.databases import ask, run
from tests.support.postgres import Postgres, running_postgres
from tests.support.processes import Report, child, meeting_point

pytestmark = pytest.mark.anyio

CALLER = Caller(owner="key_ann", role="reader", rate_per_minute=300, streams_at_once=3)


@pytest.fixture
def url(postgres: Postgres, migrated_postgres: str) -> Iterator[str]:
    with postgres.empty_database(like=migrated_postgres) as new:
        yield new


def hammer(report: Report, url: str, requests: int, start: Barrier) -> None:
    """What a child process runs: asks as fast as it can, from several tasks, from the moment all are ready."""
    report(str(anyio.run(_hammer, url, requests, start)))


async def _hammer(url: str, requests: int, start: Barrier) -> int:
    admitted = 0

    async def ask_often() -> None:
        nonlocal admitted
        for _ in range(requests // 4):
            try:
                await limits.admit(CALLER)
                admitted += 1
            except TooManyRequests:
                pass

    async with open_database(url) as database:
        limits = SqlRateLimits(database)
        await anyio.to_thread.run_sync(start.wait, 60)
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(ask_often)
    return admitted


def hold_streams(report: Report, url: str) -> None:
    """What a child process runs: opens all streams of the caller, and dies with them."""
    anyio.run(_hold_streams, report, url)


async def _hold_streams(report: Report, url: str) -> None:
    async with open_database(url) as database:
        limits = SqlRateLimits(database, lease_seconds=1.5)
        async with limits.stream(CALLER), limits.stream(CALLER), limits.stream(CALLER):
            report("open")
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
async def test_two_processes_that_hammer_one_key_admit_its_rate_together(url: str) -> None:
    start = meeting_point(2)
    with ExitStack() as running:
        children = [running.enter_context(child(hammer, url, 400, start)) for _ in range(2)]
        counts = [int(lines[0]) for code, lines in (one.ended() for one in children) if code == 0]
    assert sum(counts) == pytest.approx(300, rel=0.01)
    assert min(counts) > 30, "both were served"


@pytest.mark.slow
async def test_the_streams_of_a_process_that_died_are_freed(url: str) -> None:
    async with open_database(url) as database:
        limits = SqlRateLimits(database)
        with child(hold_streams, url) as process:
            assert process.ended() == (-signal.SIGKILL, ["open"])
            with pytest.raises(TooManyRequests):
                async with limits.stream(CALLER):
                    pass
            with anyio.fail_after(20):
                while not await _can_open(limits):  # noqa: ASYNC110 - a lease sends no event when it ends
                    await anyio.sleep(0.05)


async def _can_open(limits: SqlRateLimits) -> bool:
    try:
        async with limits.stream(CALLER):
            return True
    except TooManyRequests:
        return False


async def test_a_clock_that_is_set_back_does_not_lock_a_caller_out(url: str) -> None:
    async with open_database(url) as database:
        limits = SqlRateLimits(database)
        caller = Caller(owner="key_slow", role="reader", rate_per_minute=1)
        await limits.admit(caller)
        await run(database, "UPDATE rate_counts SET slot = slot + 7200")  # stored an hour ahead
        assert (await limits.admit(caller)).remaining == 0
        await run(database, "UPDATE rate_counts SET slot = slot + 7200")
        await limits.maintain()
        assert await ask(database, "SELECT count(*) FROM rate_counts") == 0


async def test_the_clocks_of_the_processes_do_not_matter(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_database(url) as database:
        limits = SqlRateLimits(database)
        caller = Caller(owner="key_slow", role="reader", rate_per_minute=1)
        await limits.admit(caller)
        for name in ("time", "monotonic"):
            monkeypatch.setattr(f"time.{name}", lambda: 4e9)
        with pytest.raises(TooManyRequests) as refused:
            await limits.admit(caller)
        monkeypatch.undo()
    assert 50 < refused.value.retry_after < 61


async def test_a_request_costs_one_transaction_and_at_most_121_rows(url: str) -> None:
    committed = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    caller = Caller(owner="key_fast", role="reader", rate_per_minute=100_000)
    async with open_database(url) as database:
        limits = SqlRateLimits(database)
        await run(
            database,
            "INSERT INTO rate_counts SELECT 'key_fast', '', floor(extract(epoch FROM now()) * 2) - n, 500"
            " FROM generate_series(0, 500) n",
        )
        await limits.admit(caller)
        assert await ask(database, "SELECT count(*) FROM rate_counts") <= 122
        await ask(database, "SELECT pg_stat_force_next_flush()")
        before = await ask(database, committed)
        for _ in range(100):
            await limits.admit(caller)
        await ask(database, "SELECT pg_stat_force_next_flush()")
        assert 100 <= await ask(database, committed) - before < 130


@pytest.mark.slow
async def test_without_the_database_nobody_is_admitted_and_an_open_stream_ends_in_peace() -> None:
    short = DatabaseTimeouts(busy=0.2, connect=2, statement=0.5, pool=0.3)
    with running_postgres() as server, server.new_database() as url:
        async with open_database(url, timeouts=short) as database:
            limits = SqlRateLimits(database)
            async with limits.stream(CALLER):
                server.stop()
                for call in (limits.admit(CALLER), limits.maintain(), _can_open(limits)):
                    with pytest.raises(StoreUnavailable):
                        await call
            server.start()
            await limits.admit(CALLER)


async def test_a_request_waits_for_one_that_is_being_counted_elsewhere(url: str) -> None:
    caller = Caller(owner="key_slow", role="reader", rate_per_minute=1, streams_at_once=1)
    refused: list[str] = []

    async def be_refused(limits: SqlRateLimits) -> None:
        for call in (limits.admit(caller), _open(limits, caller)):
            with pytest.raises(TooManyRequests) as caught:
                await call
            refused.append(caught.value.message)

    async with open_database(url) as database:
        other = await psycopg.AsyncConnection.connect(url)
        async with anyio.create_task_group() as tasks, other:
            await other.execute("SELECT bookwise_admit_request('key_slow', '{\"\"}', '{1}')")
            await other.execute("SELECT bookwise_open_stream('a lease', 'key_slow', '', '{\"\"}', '{1}', 30)")
            tasks.start_soon(be_refused, SqlRateLimits(database))
            await _until_somebody_waits(database)
            await other.commit()
    assert len(refused) == 2


async def _open(limits: SqlRateLimits, caller: Caller) -> None:
    async with limits.stream(caller):
        pass


async def _until_somebody_waits(database: Database) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with anyio.fail_after(10):
        while not await ask(database, waiting):  # noqa: ASYNC110 - the server sends no event
            await anyio.sleep(0.01)
