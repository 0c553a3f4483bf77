"""How long a busy service is waited for."""

import random

import httpx2
import pytest

from bookwise.adapters.backoff import backoff
from bookwise.adapters.embedders.service import retry_after
from tests.support.embedding_services import GOOD, failure, payload, service
from tests.support.scripted_http import Reply, scripted
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio


async def wait_after(reply: Reply) -> list[float]:
    time = StoppedTime()
    async with scripted(reply, GOOD) as server, service(server.url, time) as client:
        await client.vectors(["one"], payload)
    return time.waits


def busy(retry_after: str, **headers: str) -> Reply:
    return Reply(status=429, headers={"Retry-After": retry_after, **headers})


async def test_the_wait_a_service_asks_for_is_kept() -> None:
    assert await wait_after(busy("7")) == [7.0]
    assert await wait_after(busy("0")) == [0.0]
    assert await wait_after(busy("2.5")) == [2.5]


async def test_a_wait_until_a_date_is_measured_by_the_services_own_clock() -> None:
    until, now = "Wed, 21 Oct 2015 07:28:30 GMT", "Wed, 21 Oct 2015 07:28:00 GMT"
    assert await wait_after(busy(until, Date=now)) == [30.0]
    assert await wait_after(busy(now, Date=until)) == [0.0]
    assert await wait_after(busy(until)) == [0.0]


@pytest.mark.parametrize("garbage", ["soon", "-5", "nan", "inf", "1e3", "Wed, 99 Foo 2015", ""])
async def test_a_wait_that_makes_no_sense_is_replaced_by_our_own(garbage: str) -> None:
    [wait] = await wait_after(busy(garbage))
    assert 0.25 <= wait <= 0.5


@pytest.mark.parametrize("retry_after", ["3600", "60", "9" * 400, "Wed, 21 Oct 2999 07:28:00 GMT"])
async def test_a_wait_beyond_the_deadline_is_not_begun(retry_after: str) -> None:
    time = StoppedTime()
    error = await failure(busy(retry_after), time=time)
    assert time.waits == []
    assert "asks to wait" in error.message
    assert "beyond the limit of 60 s" in error.message
    assert "1 attempt." in error.message


async def test_waits_count_against_the_deadline_together() -> None:
    time = StoppedTime()
    await failure(busy("40"), busy("40"), time=time)
    assert time.waits == [40.0]


async def test_the_own_wait_doubles_up_to_a_limit_and_is_spread() -> None:
    random.seed(7)
    for attempt, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (9, 8.0)):
        waits = {backoff(attempt) for _ in range(50)}
        assert longest / 2 <= min(waits) < max(waits) <= longest


async def test_a_date_without_a_zone_is_read_as_utc() -> None:
    headers = httpx2.Headers({"Retry-After": "21 Oct 2015 07:28:30 -0000", "Date": "21 Oct 2015 07:28:00 GMT"})
    assert retry_after(headers) == 30.0
