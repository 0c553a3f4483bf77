"""The shared client of the embedding services, over real connections to a scripted server."""

import itertools
import json
import math

import anyio
import httpx2
import pytest

from bookwise.adapters.embedders.service import ATTEMPTS, batches, fit_text
from bookwise.domain.errors import EmbedderUnavailable, Misconfigured
from tests.support.embedding_services import GOOD, KEY, echo, failure, payload, service
from tests.support.scripted_http import Reply, Request, Server, answering, scripted
from tests.support.silent_server import silent_server
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio


async def test_a_vector_comes_back_as_floats_of_length_one() -> None:
    async with scripted(GOOD) as server, service(server.url) as client:
        assert await client.vectors(["one"], payload) == [(0.6, 0.8)]


async def test_an_empty_list_asks_nobody() -> None:
    async with scripted() as server, service(server.url) as client:
        assert await client.vectors([], payload) == []
    assert server.requests == []


async def test_the_key_travels_as_a_bearer_and_the_texts_as_json() -> None:
    async with scripted(GOOD) as server, service(server.url) as client:
        await client.vectors(["naïve \ud800 text"], payload)
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/embed")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json == {"texts": ["naïve ? text"]}


async def test_many_texts_go_in_batches_and_come_back_in_order() -> None:
    angles = [number / 10 for number in range(20)]
    async with answering(echo) as server, service(server.url) as client:
        vectors = await client.vectors([str(angle) for angle in angles], payload)
    assert [round(math.atan2(y, x), 6) for x, y in vectors] == [round(angle, 6) for angle in angles]
    assert sorted(len(request.json["texts"]) for request in server.requests) == [2, 3, 3, 3, 3, 3, 3]


async def test_a_handshake_that_never_ends_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwise.adapters.embedders.service.CONNECT_SECONDS", 0.05)
    async with silent_server() as server, service(server.url, attempt_seconds=30.0) as client:
        with pytest.raises(EmbedderUnavailable, match="unreachable"):
            await client.vectors(["one"], payload)
        await server.all_closed(ATTEMPTS)


async def test_at_most_four_requests_are_under_way_at_once() -> None:
    def slow(request: Request) -> Reply:
        return Reply(json=echo(request).json, delay=0.01)

    async with (
        answering(slow) as server,
        service(server.url, batch_texts=1) as client,
        anyio.create_task_group() as group,
    ):
        for _ in range(3):
            group.start_soon(client.vectors, ["1"] * 6, payload)
    assert len(server.requests) == 18
    assert server.most_at_once == 4


async def test_standing_in_line_for_a_free_connection_costs_no_deadline() -> None:
    time = StoppedTime()

    def slow(request: Request) -> Reply:
        time.now += 20.0
        return echo(request)

    async with answering(slow) as server, service(server.url, time, batch_texts=1) as client:
        assert len(await client.vectors(["1"] * 12, payload)) == 12


async def test_a_batch_ends_at_the_number_of_texts_or_at_the_tokens() -> None:
    by_number = list(batches(["a"] * 5, max_texts=2, max_tokens=100))
    assert by_number == [(0, ["a", "a"]), (2, ["a", "a"]), (4, ["a"])]
    words = ["x" * 40, "y" * 40, "z" * 400]
    assert list(batches(words, max_texts=9, max_tokens=22)) == [(0, words[:2]), (2, words[2:])]
    assert list(batches([], max_texts=2, max_tokens=100)) == []


async def test_a_text_too_long_for_the_model_is_cut_between_characters() -> None:
    assert fit_text("plain", 100) == "plain"
    assert fit_text("x" * 101, 100) == "x" * 100
    assert fit_text("é" * 60, 99) == "é" * 49
    assert fit_text("", 100) == " "


async def test_a_busy_service_is_asked_again_and_the_attempts_are_counted() -> None:
    time = StoppedTime()
    async with (
        scripted(Reply(status=429), Reply(status=503), GOOD) as server,
        service(server.url, time) as client,
    ):
        assert await client.vectors(["one"], payload) == [(0.6, 0.8)]
    assert len(server.requests) == 3
    first, second = time.waits
    assert 0.25 <= first <= 0.5 <= second <= 1.0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_after_three_attempts_the_service_counts_as_unavailable(status: int) -> None:
    error = await failure(*[Reply(status=status, body=b"secret detail")] * 3)
    assert f"HTTP {status}" in error.message
    assert "3 attempts" in error.message
    assert "secret detail" not in error.message
    assert "TEST_BASE_URL" in error.advice


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(fault="reset"),
        Reply(json=[[3.0, 4.0]], cut_after=5),
        Reply(body=b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["reset", "cut body", "broken compression"],
)
async def test_a_broken_connection_is_tried_again(trouble: Reply) -> None:
    async with scripted(trouble, GOOD) as server, service(server.url) as client:
        assert await client.vectors(["one"], payload) == [(0.6, 0.8)]
    assert "3 attempts" in (await failure(trouble, trouble, trouble)).message


async def test_nobody_at_the_address_makes_the_service_unavailable() -> None:
    async with scripted() as server:
        url = server.url
    async with service(url) as client:
        with pytest.raises(EmbedderUnavailable, match=r"at 127\.0\.0\.1 is unreachable \(ConnectError\)"):
            await client.vectors(["one"], payload)


@pytest.mark.parametrize(
    "silence",
    [Reply(fault="hang"), Reply(body=itertools.repeat(b" "), pause=0.005)],
    ids=["no answer", "an answer that drips for ever"],
)
async def test_a_service_that_does_not_finish_in_time_is_given_up(silence: Reply) -> None:
    error = await failure(silence, silence, silence, attempt_seconds=0.25)
    assert "did not respond within 0.25 s" in error.message


@pytest.mark.parametrize("status", [400, 404, 422, 302, 413])
async def test_a_request_the_service_refuses_is_not_sent_again(status: int) -> None:
    rejection = Reply(status=status, body=b"secret detail", headers={"Location": "/elsewhere"})
    async with scripted(rejection) as server, service(server.url) as client:
        with pytest.raises((EmbedderUnavailable, Misconfigured), match=f"HTTP {status}") as caught:
            await client.vectors(["one"], payload)
    assert "secret detail" not in str(caught.value)
    assert isinstance(caught.value, Misconfigured) == (status == 404)


@pytest.mark.parametrize("location", ["data:text/html,x", "http://[", "//x:y", "http://other.example/"])
async def test_a_redirect_to_anywhere_is_not_followed(location: str) -> None:
    redirect = Reply(status=302, headers={"Location": location})
    async with answering(lambda _: redirect) as server, service(server.url) as client:
        with pytest.raises(EmbedderUnavailable):
            await client.vectors(["one"], payload)
    assert {request.target for request in server.requests} == {"/embed"}


async def test_a_cookie_is_never_sent_back() -> None:
    baked = Reply(json=[[3.0, 4.0]], headers={"Set-Cookie": "a=\xff; Path=/"})
    async with scripted(baked, GOOD) as server, service(server.url) as client:
        await client.vectors(["one"], payload)
        await client.vectors(["one"], payload)
    assert "cookie" not in server.requests[1].headers


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_not_accepted_is_a_setting_to_mend(status: int) -> None:
    rejection = Reply(status=status, json={"error": f"bad key {KEY}"})
    async with scripted(rejection) as server, service(server.url) as client:
        with pytest.raises(Misconfigured) as caught:
            await client.vectors(["one"], payload)
    assert "TEST_API_KEY" in caught.value.message
    assert KEY not in caught.value.message + caught.value.advice + repr(client)


async def test_one_failing_batch_ends_the_whole_call() -> None:
    def second_fails(request: Request) -> Reply:
        return Reply(status=400) if "bad" in request.json["texts"] else Reply(fault="hang")

    async with answering(second_fails) as server, service(server.url, batch_texts=1) as client:
        with pytest.raises(EmbedderUnavailable, match="HTTP 400"):
            await client.vectors(["1", "bad", "1"], payload)


async def test_a_closed_service_opens_again_when_it_is_needed() -> None:
    async with scripted(GOOD, GOOD) as server, service(server.url) as client:
        await client.aclose()
        await client.vectors(["one"], payload)
        await client.aclose()
        await client.vectors(["one"], payload)


async def test_the_scripted_server_fails_on_requests_left_over_or_unexpected() -> None:
    with pytest.raises(AssertionError, match="1 replies of the script were never asked for"):
        async with scripted(GOOD):
            pass
    with pytest.raises(AssertionError, match="requests nobody expected"):
        async with scripted() as server, httpx2.AsyncClient() as client:
            await client.post(server.url, content=json.dumps({}))


def test_the_scripted_server_tells_its_address() -> None:
    assert Server(echo).url == "http://127.0.0.1:0"
