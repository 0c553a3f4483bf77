"""Keys and limits under attack: floods of bad keys, and requests that would rather not be counted."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bookwise.api.auth.auth_throttle import AuthThrottle
from bookwise.domain.access import ApiKey
from bookwise.ports import KeyStore
from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

PAGE = "https://book.example"


class Counted:
    """Keys, and how often one was looked up."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys, self.lookups = keys, 0

    async def key(self, secret: str) -> ApiKey | None:
        self.lookups += 1
        return await self._keys.key(secret)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._keys, name)


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service without books, for those who have a key."""
    settings = settings_for(tmp_path / "data", embedder="hashing")
    async with http_service(settings, open_to_anyone=False) as opened:
        yield opened


def counting(opened: Opened, time: StoppedTime | None = None) -> Counted:
    """Counts the look-ups from now on."""
    service = opened.service
    keys = Counted(service.keys)
    throttle = AuthThrottle(clock=time.clock) if time else service.auth_throttle
    opened.app.state.service = replace(service, app=replace(service.app, keys=keys), auth_throttle=throttle)
    return keys


def bearing(secret: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **more}


def wrong(number: int) -> str:
    return f"bw_{number:043}"


async def books(opened: Opened, headers: dict[str, str]) -> httpx2.Response:
    return await opened.client.get("/books", headers=headers)


async def from_address(opened: Opened, host: str, headers: dict[str, str]) -> httpx2.Response:
    transport = httpx2.ASGITransport(opened.app, client=(host, 4711))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get("/books", headers=headers)


async def test_after_a_thousand_bad_keys_a_good_one_from_the_same_address_passes(guarded: Opened) -> None:
    time = StoppedTime()
    counting(guarded, time)
    good = await guarded.key()
    answers = [await books(guarded, bearing(wrong(number))) for number in range(1_000)]
    assert [answer.status_code for answer in answers] == [401] * 60 + [429] * 940
    assert {answer.headers["Retry-After"] for answer in answers[60:]} == {"60"}
    assert answers[60].json()["code"] == "rate-limited"
    assert (await books(guarded, good)).status_code == 200
    fresh = await guarded.key()
    assert (await books(guarded, fresh)).status_code == 200, "one that was never seen here too"
    assert (await from_address(guarded, "192.0.2.1", bearing(wrong(1)))).status_code == 401
    time.now += 60
    assert (await books(guarded, bearing(wrong(1)))).status_code == 401


async def test_a_client_that_repeats_its_bad_key_costs_one_look_up(guarded: Opened) -> None:
    keys = counting(guarded)
    statuses = {(await books(guarded, bearing(wrong(1)))).status_code for _ in range(200)}
    assert statuses == {401, 429}
    assert keys.lookups == 1


async def test_a_flood_of_bad_keys_takes_bounded_memory(guarded: Opened) -> None:
    for number in range(300):
        await from_address(guarded, f"2001:db8::{number:x}", bearing(wrong(number % 7)))
    assert guarded.service.auth_throttle.remembered == 1 + 7


async def test_no_header_gives_a_flood_another_address(guarded: Opened) -> None:
    for number in range(60):
        await books(guarded, bearing(wrong(number)))
    for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP"):
        disguise = "for=203.0.113.9" if name == "Forwarded" else "203.0.113.9"
        assert (await books(guarded, bearing(wrong(1), **{name: disguise}))).status_code == 429, name


async def test_a_page_key_that_came_from_elsewhere_still_works_from_its_page(guarded: Opened) -> None:
    _, secret = await guarded.service.keys.create("widget", "reader", origins=[PAGE])
    for _ in range(61):
        refused = await books(guarded, bearing(secret, Origin="https://evil.example"))
    assert refused.status_code == 429
    assert (await books(guarded, bearing(secret, Origin=PAGE))).status_code == 200


async def test_a_key_is_counted_whatever_the_spelling_of_its_request(guarded: Opened) -> None:
    key = await guarded.key(rate=8)
    secret = key["Authorization"].partition(" ")[2]
    spellings: list[dict[str, str]] = [
        {"Authorization": f"Bearer {secret}"},
        {"AUTHORIZATION": f"BEARER {secret}"},
        {"authorization": f"bearer  {secret} "},
        bearing(secret, **{"X-Forwarded-For": "203.0.113.9"}),
        bearing(secret, **{"X-Real-IP": "203.0.113.9", "Forwarded": "for=203.0.113.9"}),
        bearing(secret, **{"User-Agent": "another"}),
        bearing(secret, **{"X-HTTP-Method-Override": "OPTIONS"}),
    ]
    for used, headers in enumerate(spellings, start=1):
        answer = await books(guarded, headers)
        assert answer.headers["RateLimit"].startswith(f'"default";r={8 - used};'), headers
    assert (await guarded.client.get("/books?x=1", headers=key)).status_code == 200
    for headers in spellings:
        assert (await books(guarded, headers)).status_code == 429, headers
    assert (await from_address(guarded, "192.0.2.1", key)).status_code == 429, "one key, wherever it is"


async def test_a_head_request_gets_nothing_past_the_limit(guarded: Opened) -> None:
    key = await guarded.key(rate=1)
    assert (await books(guarded, key)).status_code == 200
    for path in ("/books", "/v1/models", "/chat/run"):
        answer = await guarded.client.head(path, headers=key)
        assert answer.status_code in (405, 429), path
        assert not answer.content


async def test_streams_count_as_requests(locked: Opened) -> None:
    key = await locked.key(rate=3)
    message = {"message": "When does the irrigation valve open?"}
    completion = {"model": "book", "messages": [{"role": "user", "content": message["message"]}], "stream": True}
    asked = [
        ("/chat/stream", message),
        ("/chat/run", {**message, "stream": True}),
        ("/v1/chat/completions", completion),
    ]
    for left, (path, body) in zip((2, 1, 0), asked, strict=True):
        answer = await locked.client.post(path, json=body, headers=key)
        assert answer.headers["Content-Type"].startswith("text/event-stream"), path
        assert answer.headers["RateLimit"].startswith(f'"default";r={left};'), path
    for path, body in asked:
        answer = await locked.client.post(path, json=body, headers=key)
        assert (answer.status_code, json.loads(answer.text)["code"]) == (429, "rate-limited"), path


async def test_one_reader_of_a_page_cannot_use_up_its_key_for_the_others(guarded: Opened) -> None:
    _, secret = await guarded.service.keys.create("widget", "reader", origins=[PAGE], rate_per_minute=2)
    widget = bearing(secret, Origin=PAGE)

    async def statuses(host: str) -> list[int]:
        return [(await from_address(guarded, host, widget)).status_code for _ in range(3)]

    for number in range(10):
        assert await statuses(f"192.0.2.{number}") == [200, 200, 429]
    assert await statuses("192.0.2.99") == [429, 429, 429], "twenty from all together"
    assert (await books(guarded, await guarded.key())).status_code == 200
