"""What responses say about the rate limit."""

from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from bookwise.adapters.process_rate_limits import ProcessRateLimits
from bookwise.api import problems
from bookwise.api.auth.access import caller_of
from bookwise.api.auth.rate_limit import Limited, add_rate_headers
from bookwise.domain.access import ANYONE, Caller
from bookwise.domain.errors import BookwiseError
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

ANN = Caller(owner="key_ann", role="reader")
SLOW = Caller(owner="key_slow", role="reader", rate_per_minute=2, streams_at_once=2)


@pytest.fixture
def time() -> StoppedTime:
    return StoppedTime()


@pytest.fixture
def limits(time: StoppedTime) -> ProcessRateLimits:
    return ProcessRateLimits(clock=time.clock)


class Site:
    """A service with a plain route, a failing one, a stream, and an unlimited one."""

    def __init__(self, limits: ProcessRateLimits, caller: Caller) -> None:
        self.app = FastAPI()
        add_rate_headers(self.app)
        self.app.state.rate_limits = limits
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


async def test_every_limited_response_says_what_is_left_errors_and_streams_too(limits: ProcessRateLimits) -> None:
    site = Site(limits, ANN)
    site.app.add_exception_handler(BookwiseError, lambda *_: StreamingResponse(iter(["no"]), 400))
    async with site.client() as client:
        for path, remaining in (("/plain", 99), ("/failing", 98), ("/stream", 97)):
            answer = await client.get(path)
            assert answer.headers["RateLimit-Policy"] == '"default";q=100;w=60'
            assert answer.headers["RateLimit"] == f'"default";r={remaining};t=60'
        assert not {"ratelimit", "ratelimit-policy"} & set((await client.get("/health")).headers)


async def test_a_refused_request_says_when_to_come_back(limits: ProcessRateLimits, time: StoppedTime) -> None:
    async with Site(limits, SLOW).client() as client:
        assert [(await client.get("/plain")).status_code for _ in range(2)] == [200, 200]
        time.now += 12.25
        refused = await client.get("/plain")
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "48"
        assert refused.headers["RateLimit"] == '"default";r=0;t=48'
        assert refused.json()["type"].endswith("/rate-limited")
        time.now += int(refused.headers["Retry-After"])
        assert (await client.get("/plain")).status_code == 200


async def test_no_request_counts_for_longer_than_the_window(limits: ProcessRateLimits, time: StoppedTime) -> None:
    time.now = 458.9846513979157  # the window added to it, rounded, and subtracted again is more than 60
    async with Site(limits, SLOW).client() as client:
        for remaining in (1, 0):
            assert (await client.get("/plain")).headers["RateLimit"] == f'"default";r={remaining};t=60'
        assert (await client.get("/plain")).headers["Retry-After"] == "60"


async def test_the_open_service_says_nothing_of_limits(limits: ProcessRateLimits) -> None:
    async with Site(limits, ANYONE).client() as client:
        answer = await client.get("/plain")
    assert answer.status_code == 200
    assert "RateLimit" not in answer.headers


async def test_250_requests_at_once_over_http_are_100_answers_and_150_refusals(limits: ProcessRateLimits) -> None:
    statuses: list[int] = []

    async def ask(client: httpx2.AsyncClient) -> None:
        statuses.append((await client.get("/plain")).status_code)

    async with Site(limits, ANN).client() as client, anyio.create_task_group() as tasks:
        for _ in range(250):
            tasks.start_soon(ask, client)
    assert (statuses.count(200), statuses.count(429)) == (100, 150)
