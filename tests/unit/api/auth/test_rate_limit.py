"""How often a caller may ask, how many streams they may have open, and what responses say about it."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace

import anyio
import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from bookwise.api import problems
from bookwise.api.auth.access import caller_of
from bookwise.api.auth.rate_limit import Limited, Limiter, RateState, add_limits
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.errors import BookwiseError, TooManyRequests
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

ANN = Caller(owner="key_ann", role="reader")
BOB = Caller(owner="key_bob", role="reader")
PAGE = Caller(owner="key_page", role="reader", rate_per_minute=3, streams_at_once=2)
SLOW = Caller(owner="key_slow", role="reader", rate_per_minute=2, streams_at_once=2)


@pytest.fixture
def time() -> StoppedTime:
    return StoppedTime()


@pytest.fixture
def limiter(time: StoppedTime) -> Limiter:
    return Limiter(clock=time.clock)


def admitted(limiter: Limiter, caller: Caller, times: int) -> int:
    return sum(is_admitted(limiter, caller) for _ in range(times))


def is_admitted(limiter: Limiter, caller: Caller) -> bool:
    try:
        limiter.admit(caller)
    except TooManyRequests:
        return False
    return True


def wait_of(limiter: Limiter, caller: Caller) -> float:
    with pytest.raises(TooManyRequests) as refused:
        limiter.admit(caller)
    return refused.value.retry_after


async def test_of_250_requests_at_once_exactly_100_are_admitted(limiter: Limiter) -> None:
    answers: list[bool] = []

    async def ask(number: int) -> None:
        for _ in range(number % 3):
            await anyio.lowlevel.checkpoint()
        answers.append(is_admitted(limiter, ANN))

    async with anyio.create_task_group() as tasks:
        for number in range(250):
            tasks.start_soon(ask, number)
    assert (len(answers), sum(answers)) == (250, 100)


def test_one_caller_who_asks_too_often_does_not_slow_down_another(limiter: Limiter) -> None:
    assert admitted(limiter, ANN, 150) == 100
    assert admitted(limiter, BOB, 100) == 100


def test_no_minute_holds_more_than_the_rate_wherever_it_begins(limiter: Limiter, time: StoppedTime) -> None:
    moments: list[float] = []
    for _ in range(2_000):
        if is_admitted(limiter, ANN):
            moments.append(time.now)
        time.now += 0.11
    for begin in moments:
        assert sum(begin <= moment < begin + 60 for moment in moments) <= 100
    assert len(moments) > 300, "and the rate is used to the full"


def test_a_burst_at_the_edge_of_a_minute_gains_nothing(limiter: Limiter, time: StoppedTime) -> None:
    time.now += 59
    assert admitted(limiter, ANN, 100) == 100
    time.now += 2
    assert admitted(limiter, ANN, 100) == 0
    time.now += 57.9
    assert admitted(limiter, ANN, 100) == 0
    time.now += 0.1
    assert admitted(limiter, ANN, 200) == 100


def test_whoever_waits_as_long_as_told_is_admitted_and_not_a_moment_earlier(
    limiter: Limiter, time: StoppedTime
) -> None:
    limiter.admit(SLOW)
    time.now += 20
    limiter.admit(SLOW)
    time.now += 5
    assert wait_of(limiter, SLOW) == 35
    time.now += 34.5
    assert wait_of(limiter, SLOW) == 0.5
    time.now += 0.5
    assert limiter.admit(SLOW) == RateState(limit=2, remaining=0, reset_seconds=20)
    assert wait_of(limiter, SLOW) == 20


def test_refused_requests_do_not_count(limiter: Limiter, time: StoppedTime) -> None:
    admitted(limiter, SLOW, 2)
    for _ in range(59):
        time.now += 1
        assert not is_admitted(limiter, SLOW)
    time.now += 1
    assert admitted(limiter, SLOW, 3) == 2


def test_the_state_says_what_is_left_and_when_it_grows(limiter: Limiter, time: StoppedTime) -> None:
    assert limiter.admit(ANN) == RateState(limit=100, remaining=99, reset_seconds=60)
    time.now += 29.5
    state = limiter.admit(ANN)
    assert state == RateState(limit=100, remaining=98, reset_seconds=30.5)
    assert state.headers() == {"RateLimit-Policy": '"default";q=100;w=60', "RateLimit": '"default";r=98;t=31'}


def test_after_the_rate_of_a_key_was_lowered_the_wait_is_still_right(limiter: Limiter, time: StoppedTime) -> None:
    for _ in range(5):
        limiter.admit(Caller(owner="key_slow", role="reader", rate_per_minute=5))
        time.now += 1
    assert wait_of(limiter, SLOW) == 58  # until the fourth of the five has left
    time.now += 58
    assert is_admitted(limiter, SLOW)


def at(address: str) -> Caller:
    return replace(PAGE, address=address)


def test_a_key_in_a_page_has_its_rate_at_each_address(limiter: Limiter) -> None:
    assert admitted(limiter, at("192.0.2.1"), 10) == 3
    assert admitted(limiter, at("192.0.2.2"), 10) == 3
    with pytest.raises(TooManyRequests, match="Rate limit reached: 3 requests per minute for your address"):
        limiter.admit(at("192.0.2.1"))


def test_a_key_in_a_page_has_ten_times_its_rate_at_all_addresses_together(limiter: Limiter, time: StoppedTime) -> None:
    for number in range(10):
        assert admitted(limiter, at(f"192.0.2.{number}"), 3) == 3
        time.now += 1
    assert wait_of(limiter, at("192.0.2.99")) == 50
    before = limiter.remembered
    assert admitted(limiter, at("192.0.2.98"), 100) == 0
    assert limiter.remembered == before, "addresses that were refused take no memory"
    assert is_admitted(limiter, ANN)
    time.now += 50
    assert limiter.admit(at("192.0.2.99")) == RateState(limit=3, remaining=2, reset_seconds=1)


def test_what_an_address_is_told_to_have_left_the_key_has_left_too(limiter: Limiter) -> None:
    for number in range(9):
        admitted(limiter, at(f"192.0.2.{number}"), 3)
    admitted(limiter, at("192.0.2.10"), 2)
    assert limiter.admit(at("192.0.2.11")).remaining == 0, "the last of the key's thirty"


def test_a_key_in_a_page_has_its_streams_at_each_address_and_ten_times_as_many_together(limiter: Limiter) -> None:
    with ExitStack() as streams:
        for number in range(10):
            for _ in range(2):
                streams.enter_context(limiter.stream(at(f"192.0.2.{number}")))
            if number == 0:
                with pytest.raises(TooManyRequests, match="Stream limit reached: 2 open streams for your address"):
                    streams.enter_context(limiter.stream(at("192.0.2.0")))
        with pytest.raises(TooManyRequests, match="Stream limit reached: 20 open streams"):
            streams.enter_context(limiter.stream(at("192.0.2.99")))
        assert limiter.open_streams == 20
    assert limiter.open_streams == 0
    assert not limiter._streams, "nothing is kept of those that ended"


def test_a_rate_of_nought_is_no_limit_and_says_nothing(limiter: Limiter) -> None:
    assert admitted(limiter, ANYONE, 1_000) == 1_000
    assert limiter.admit(ANYONE).headers() == {}
    assert limiter.remembered == 0


def test_nothing_is_remembered_for_longer_than_a_minute(limiter: Limiter, time: StoppedTime) -> None:
    for number in range(500):
        admitted(limiter, Caller(owner=f"key_{number}", role="reader"), 3)
        time.now += 0.01
    assert limiter.remembered == 1_500
    admitted(limiter, ANN, 1_000)
    assert limiter.remembered == 1_600, "what was refused takes no memory"
    time.now += 60
    limiter.admit(ANN)
    assert limiter.remembered == 1


def test_a_caller_who_never_stops_asking_does_not_keep_others_in_memory(limiter: Limiter, time: StoppedTime) -> None:
    limiter.admit(ANN)
    limiter.admit(BOB)
    for _ in range(3):
        time.now += 25
        limiter.admit(ANN)
    assert limiter.remembered == 3  # of Ann alone


def test_as_many_streams_as_allowed_are_open_at_once_and_no_more(limiter: Limiter) -> None:
    with limiter.stream(SLOW):
        with limiter.stream(SLOW):
            with pytest.raises(TooManyRequests, match="2 open streams") as refused, limiter.stream(SLOW):
                pass
            assert refused.value.retry_after > 0
            with limiter.stream(ANN):
                assert limiter.open_streams == 3
        with limiter.stream(SLOW):
            assert limiter.open_streams == 2
    assert limiter.open_streams == 0


async def test_a_stream_is_freed_when_it_fails_and_when_it_is_cancelled(limiter: Limiter) -> None:
    for _ in range(5):
        with pytest.raises(BookwiseError, match="broken"), limiter.stream(SLOW):
            raise BookwiseError("broken")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold_a_stream, limiter)
        tasks.start_soon(hold_a_stream, limiter)
        await anyio.wait_all_tasks_blocked()
        assert limiter.open_streams == 2
        tasks.cancel_scope.cancel()
    assert limiter.open_streams == 0


async def hold_a_stream(limiter: Limiter) -> None:
    with limiter.stream(SLOW):
        await anyio.sleep_forever()


def test_without_a_limit_any_number_of_streams_is_open(limiter: Limiter) -> None:
    with ExitStack() as streams:
        for _ in range(100):
            streams.enter_context(limiter.stream(ANYONE))
        assert limiter.open_streams == 100


class Site:
    """A service with a plain route, a failing one, a stream, and an unlimited one."""

    def __init__(self, limiter: Limiter, caller: Caller) -> None:
        self.app = FastAPI()
        add_limits(self.app, limiter)
        problems.install(self.app)
        self.app.dependency_overrides[caller_of] = lambda: caller
        self.app.get("/plain", dependencies=[Limited])(self.plain)
        self.app.get("/failing", dependencies=[Limited])(self.failing)
        self.app.get("/stream", dependencies=[Limited])(self.stream)
        self.app.get("/health")(self.plain)

    async def plain(self) -> dict[str, str]:
        return {}

    async def failing(self) -> None:
        raise BookwiseError("no")

    async def stream(self) -> StreamingResponse:
        return StreamingResponse(self.events())

    async def events(self) -> AsyncIterator[str]:
        yield "first"
        yield "last"

    def client(self) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.app)
        return httpx2.AsyncClient(transport=transport, base_url="http://bookwise.example")


async def test_every_limited_response_says_what_is_left_errors_and_streams_too(limiter: Limiter) -> None:
    site = Site(limiter, ANN)
    site.app.add_exception_handler(BookwiseError, lambda *_: StreamingResponse(iter(["no"]), 400))
    async with site.client() as client:
        for path, remaining in (("/plain", 99), ("/failing", 98), ("/stream", 97)):
            answer = await client.get(path)
            assert answer.headers["RateLimit-Policy"] == '"default";q=100;w=60'
            assert answer.headers["RateLimit"] == f'"default";r={remaining};t=60'
        assert not {"ratelimit", "ratelimit-policy"} & set((await client.get("/health")).headers)


async def test_a_refused_request_says_when_to_come_back(limiter: Limiter, time: StoppedTime) -> None:
    async with Site(limiter, SLOW).client() as client:
        assert [(await client.get("/plain")).status_code for _ in range(2)] == [200, 200]
        time.now += 12.25
        refused = await client.get("/plain")
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "48"
        assert refused.headers["RateLimit"] == '"default";r=0;t=48'
        assert refused.json()["type"].endswith("/rate-limited")
        time.now += int(refused.headers["Retry-After"])
        assert (await client.get("/plain")).status_code == 200


async def test_the_open_service_says_nothing_of_limits(limiter: Limiter) -> None:
    async with Site(limiter, ANYONE).client() as client:
        answer = await client.get("/plain")
    assert answer.status_code == 200
    assert "RateLimit" not in answer.headers


async def test_250_requests_at_once_over_http_are_100_answers_and_150_refusals(limiter: Limiter) -> None:
    statuses: list[int] = []

    async def ask(client: httpx2.AsyncClient) -> None:
        statuses.append((await client.get("/plain")).status_code)

    async with Site(limiter, ANN).client() as client, anyio.create_task_group() as tasks:
        for _ in range(250):
            tasks.start_soon(ask, client)
    assert (statuses.count(200), statuses.count(429)) == (100, 150)
