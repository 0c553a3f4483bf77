"""A service that is asked too much refuses some at once, instead of answering everybody too late."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from bookwise.api.load_limit import AT_ONCE, FIRST_GUESS, LoadLimit
from bookwise.domain.errors import Overloaded
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def all_slots_taken(limit: LoadLimit) -> AsyncIterator[None]:
    async with AsyncExitStack() as slots:
        for _ in range(AT_ONCE):
            await slots.enter_async_context(limit.slot())
        yield


async def test_questions_that_would_wait_too_long_are_refused_at_once() -> None:
    limit, order = LoadLimit(2.5 * FIRST_GUESS / AT_ONCE), list[int]()

    async def wait(number: int) -> None:
        async with limit.slot():
            order.append(number)

    async with anyio.create_task_group() as tasks, all_slots_taken(limit):
        for number in range(2):
            tasks.start_soon(wait, number)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded, match="too many questions are waiting"):
            await wait(2)
        assert order == []
    assert order == [0, 1]


async def test_the_wait_it_names_is_the_time_that_its_queue_takes() -> None:
    time = StoppedTime()
    limit = LoadLimit(4.0 / AT_ONCE, clock=time.clock)
    for _ in range(100):
        async with limit.slot():
            time.now += 3.0
    async with anyio.create_task_group() as tasks, all_slots_taken(limit):

        async def wait() -> None:
            async with limit.slot():
                pass

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded) as refused:
            await wait()
    assert refused.value.retry_after == pytest.approx(2 * 3.0 / AT_ONCE, rel=0.01)


async def test_a_reader_who_leaves_the_queue_takes_no_slot() -> None:
    limit = LoadLimit(1.0)
    async with all_slots_taken(limit):
        for _ in range(3):
            with anyio.move_on_after(0.001):
                async with limit.slot():
                    raise AssertionError
    async with all_slots_taken(limit):
        pass


async def test_a_slot_that_is_released_early_is_free_and_released_once() -> None:
    limit = LoadLimit(0.0)
    async with limit.slot() as slot:
        slot.release()
        async with all_slots_taken(limit):
            pass
    async with all_slots_taken(limit):
        pass
