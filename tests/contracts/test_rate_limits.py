"""How often a caller may ask, and how many streams they may have open, in one process or in several."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskStatus

from bookwise.adapters.process_rate_limits import ProcessRateLimits
from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.rate_limits import SqlRateLimits
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.errors import BookwiseError, TooManyRequests
from bookwise.domain.rate_limits import LEASE_SECONDS, RateState
from bookwise.ports import RateLimits
from tests.support.databases import POOLED, ask, new_migrated_url, run
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

ANN = Caller(owner="key_ann", role="reader")
BOB = Caller(owner="key_bob", role="reader")
PAGE = Caller(owner="key_page", role="reader", rate_per_minute=3, streams_at_once=2)
SLOW = Caller(owner="key_slow", role="reader", rate_per_minute=2, streams_at_once=2)
LATE = 0.6  #: how much longer than a minute a request may count


@dataclass(frozen=True, slots=True)
class Scene:
    """The limits, and a clock that jumps."""

    limits: RateLimits
    elapse: Callable[[float], Awaitable[None]]  #: lets seconds pass; use halves
    remembered: Callable[[], Awaitable[int]]  #: how much is stored
    clock: Callable[[], float]

    async def admitted(self, caller: Caller, times: int) -> int:
        return sum([await self.is_admitted(caller) for _ in range(times)])

    async def is_admitted(self, caller: Caller) -> bool:
        try:
            await self.limits.admit(caller)
        except TooManyRequests:
            return False
        return True

    async def wait_of(self, caller: Caller) -> float:
        with pytest.raises(TooManyRequests) as refused:
            await self.limits.admit(caller)
        return refused.value.retry_after

    def until_it_has_left(self, moment: float) -> Any:
        """The seconds until a request of that moment no longer counts."""
        return pytest.approx(moment + 60 - self.clock() + LATE / 2, abs=LATE)

    async def open_streams(self, caller: Caller) -> int:
        """How many more streams the caller can open now."""
        async with AsyncExitStack() as streams:
            for count in range(caller.streams_at_once + 1):
                try:
                    await streams.enter_async_context(self.limits.stream(caller))
                except TooManyRequests:
                    return caller.streams_at_once - count
        raise AssertionError("more streams than allowed")


def in_process() -> Scene:
    time = StoppedTime()
    limits = ProcessRateLimits(clock=time.clock)

    async def elapse(seconds: float) -> None:
        time.now += seconds

    async def remembered() -> int:
        return limits.remembered

    return Scene(limits, elapse, remembered, time.clock)


def in_database(database: Database) -> Scene:
    """The clock is the server's, so what is stored becomes older instead."""
    jumps = [0.0]

    async def elapse(seconds: float) -> None:
        jumps.append(seconds)
        for shift in (-(10**9), 10**9 - int(seconds * 2)):  # no two rows may meet on the way
            await run(database, "UPDATE rate_counts SET slot = slot + :shift", shift=shift)
        await run(database, "UPDATE stream_leases SET expires_at = expires_at - make_interval(secs => :s)", s=seconds)

    async def remembered() -> int:
        counts = await ask(database, "SELECT coalesce(sum(requests), 0) FROM rate_counts")
        return int(counts + await ask(database, "SELECT count(*) FROM stream_leases"))

    return Scene(SqlRateLimits(database), elapse, remembered, lambda: monotonic() + sum(jumps))


@pytest.fixture(params=["process", "postgres", POOLED])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Empty for the limits of one process."""
    if request.param == "process":
        yield ""
    else:
        yield from new_migrated_url(request, tmp_path)


@pytest.fixture
async def scene(url: str) -> AsyncIterator[Scene]:
    if not url:
        yield in_process()
        return
    async with open_database(url) as database:
        yield in_database(database)


async def test_of_250_requests_at_once_exactly_100_are_admitted(scene: Scene) -> None:
    answers: list[bool] = []

    async def ask_once(number: int) -> None:
        for _ in range(number % 3):
            await anyio.lowlevel.checkpoint()
        answers.append(await scene.is_admitted(ANN))

    async with anyio.create_task_group() as tasks:
        for number in range(250):
            tasks.start_soon(ask_once, number)
    assert (len(answers), sum(answers)) == (250, 100)


async def test_one_caller_who_asks_too_often_does_not_slow_down_another(scene: Scene) -> None:
    assert await scene.admitted(SLOW, 10) == 2
    assert await scene.admitted(PAGE, 3) == 3


async def test_no_minute_holds_more_than_the_rate_wherever_it_begins(scene: Scene) -> None:
    caller, start = replace(ANN, rate_per_minute=7), scene.clock()
    moments: list[float] = []
    for step in range(100):
        asked = scene.clock()
        if await scene.is_admitted(caller):
            moments.append(asked)
        await scene.elapse((0.5, 4.5, 1.0, 2.5)[step % 4])
    for begin in moments:
        assert sum(begin <= moment < begin + 60 - 0.1 for moment in moments) <= 7
    assert len(moments) >= 7 * (scene.clock() - start) / (60 + LATE + 4.5) - 1, "and the rate is used to the full"


async def test_a_burst_at_the_edge_of_a_minute_gains_nothing(scene: Scene) -> None:
    caller = replace(ANN, rate_per_minute=20)
    assert await scene.admitted(caller, 20) == 20
    for wait in (2, 30, 20):
        await scene.elapse(wait)
        assert await scene.admitted(caller, 5) == 0
    await scene.elapse(9)
    assert await scene.admitted(caller, 40) == 20


async def test_whoever_waits_as_long_as_told_is_admitted_and_not_much_earlier(scene: Scene) -> None:
    first = scene.clock()
    await scene.limits.admit(SLOW)
    await scene.elapse(20)
    second = scene.clock()
    await scene.limits.admit(SLOW)
    await scene.elapse(5)
    assert await scene.wait_of(SLOW) == scene.until_it_has_left(first)
    await scene.elapse(30)
    assert await scene.wait_of(SLOW) == scene.until_it_has_left(first)
    await scene.elapse(6)
    state = await scene.limits.admit(SLOW)
    assert state == RateState(limit=2, remaining=0, reset_seconds=scene.until_it_has_left(second))
    assert await scene.wait_of(SLOW) == scene.until_it_has_left(second)


async def test_refused_requests_do_not_count(scene: Scene) -> None:
    await scene.admitted(SLOW, 2)
    for _ in range(5):
        await scene.elapse(11)
        assert not await scene.is_admitted(SLOW)
    await scene.elapse(6)
    assert await scene.admitted(SLOW, 3) == 2


async def test_the_state_says_what_is_left_and_when_it_grows(scene: Scene) -> None:
    first = scene.clock()
    for remaining in (99, 98):
        state = await scene.limits.admit(ANN)
        assert state == RateState(limit=100, remaining=remaining, reset_seconds=scene.until_it_has_left(first))
        await scene.elapse(29.5)


async def test_after_the_rate_of_a_key_was_lowered_the_wait_is_still_right(scene: Scene) -> None:
    moments = []
    for _ in range(5):
        moments.append(scene.clock())
        await scene.limits.admit(Caller(owner="key_slow", role="reader", rate_per_minute=5))
        await scene.elapse(1)
    assert await scene.wait_of(SLOW) == scene.until_it_has_left(moments[3])
    await scene.elapse(59)
    assert await scene.is_admitted(SLOW)


def at(address: str) -> Caller:
    return replace(PAGE, address=address)


async def test_a_key_in_a_page_has_its_rate_at_each_address(scene: Scene) -> None:
    assert await scene.admitted(at("192.0.2.1"), 10) == 3
    assert await scene.admitted(at("192.0.2.2"), 10) == 3
    with pytest.raises(TooManyRequests, match="Rate limit reached: 3 requests per minute for your address"):
        await scene.limits.admit(at("192.0.2.1"))


async def test_a_key_in_a_page_has_ten_times_its_rate_at_all_addresses_together(scene: Scene) -> None:
    first = scene.clock()
    for number in range(10):
        assert await scene.admitted(at(f"192.0.2.{number}"), 3) == 3
        await scene.elapse(1)
    assert await scene.wait_of(at("192.0.2.99")) == scene.until_it_has_left(first)
    before = await scene.remembered()
    assert await scene.admitted(at("192.0.2.98"), 20) == 0
    assert await scene.remembered() == before, "addresses that were refused take no memory"
    assert await scene.is_admitted(ANN)
    await scene.elapse(51)
    assert (await scene.limits.admit(at("192.0.2.99"))).remaining == 2


async def test_what_an_address_is_told_to_have_left_the_key_has_left_too(scene: Scene) -> None:
    for number in range(9):
        await scene.admitted(at(f"192.0.2.{number}"), 3)
    await scene.admitted(at("192.0.2.10"), 2)
    assert (await scene.limits.admit(at("192.0.2.11"))).remaining == 0, "the last of the key's thirty"


async def test_a_rate_of_nought_is_no_limit(scene: Scene) -> None:
    assert await scene.admitted(ANYONE, 300) == 300
    assert (await scene.limits.admit(ANYONE)).limit == 0
    assert await scene.remembered() == 0


async def test_nothing_is_remembered_for_longer_than_a_minute(scene: Scene) -> None:
    for number in range(20):
        await scene.admitted(Caller(owner=f"key_{number}", role="reader"), 3)
    await scene.elapse(30)
    await scene.admitted(SLOW, 10)
    assert await scene.remembered() == 62, "what was refused takes no memory"
    await scene.elapse(31)
    await scene.limits.maintain()
    assert await scene.remembered() == 2
    await scene.elapse(30)
    await scene.limits.maintain()
    assert await scene.remembered() == 0


async def test_as_many_streams_as_allowed_are_open_at_once_and_no_more(scene: Scene) -> None:
    async with scene.limits.stream(SLOW):
        async with scene.limits.stream(SLOW):
            with pytest.raises(TooManyRequests, match="2 open streams") as refused:
                async with scene.limits.stream(SLOW):
                    pass
            assert refused.value.retry_after > 0
            async with scene.limits.stream(ANN):
                assert await scene.remembered() >= 3
        assert await scene.open_streams(SLOW) == 1
    assert await scene.open_streams(SLOW) == 0
    assert await scene.remembered() == 0, "nothing is kept of those that ended"


async def test_of_many_streams_at_once_as_many_as_allowed_open(scene: Scene) -> None:
    send, outcomes = anyio.create_memory_object_stream[bool](30)

    async def read() -> None:
        try:
            async with scene.limits.stream(ANN):
                await send.send(True)
                await anyio.sleep_forever()
        except TooManyRequests:
            await send.send(False)

    with send, outcomes, anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(read)
            opened = [await outcomes.receive() for _ in range(30)]
            tasks.cancel_scope.cancel()
    assert sum(opened) == 10


async def test_a_key_in_a_page_has_its_streams_at_each_address_and_ten_times_as_many_together(scene: Scene) -> None:
    async with AsyncExitStack() as streams:
        for number in range(10):
            for _ in range(2):
                await streams.enter_async_context(scene.limits.stream(at(f"192.0.2.{number}")))
            if number == 0:
                with pytest.raises(TooManyRequests, match="Stream limit reached: 2 open streams for your address"):
                    await streams.enter_async_context(scene.limits.stream(at("192.0.2.0")))
        with pytest.raises(TooManyRequests, match="Stream limit reached: 20 open streams"):
            await streams.enter_async_context(scene.limits.stream(at("192.0.2.99")))
    assert await scene.open_streams(at("192.0.2.0")) == 0


async def test_a_stream_is_freed_when_it_fails_and_when_it_is_cancelled(scene: Scene) -> None:
    for _ in range(5):
        with pytest.raises(BookwiseError, match="broken"):
            async with scene.limits.stream(SLOW):
                raise BookwiseError("broken")

    async def hold_a_stream(task_status: TaskStatus[None]) -> None:
        async with scene.limits.stream(SLOW):
            task_status.started()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        await tasks.start(hold_a_stream)
        await tasks.start(hold_a_stream)
        assert await scene.open_streams(SLOW) == 2
        tasks.cancel_scope.cancel()
    assert await scene.open_streams(SLOW) == 0


async def test_a_long_stream_stays_counted(scene: Scene) -> None:
    async with scene.limits.stream(SLOW), scene.limits.stream(SLOW):
        for _ in range(5):
            await scene.elapse(LEASE_SECONDS - 10)
            await scene.limits.maintain()
        assert await scene.open_streams(SLOW) == 2
        await scene.elapse(LEASE_SECONDS + 10)  # the database was away, and another process cleaned up
        await scene.limits.maintain()
        assert await scene.open_streams(SLOW) == 2


async def test_without_a_limit_any_number_of_streams_is_open(scene: Scene) -> None:
    async with AsyncExitStack() as streams:
        for _ in range(100):
            await streams.enter_async_context(scene.limits.stream(ANYONE))
