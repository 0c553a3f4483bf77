"""Connections go to exactly the address that was checked."""

from collections.abc import Sequence

import httpx2
import pytest

from bookwise.adapters.web.transport import PinnedTransport, system_addresses
from bookwise.domain.errors import BadSource, Unavailable
from tests.support.scripted_http import Reply, Request, answering, scripted

pytestmark = pytest.mark.anyio


class Names:
    """A resolver that returns the next answer for each call."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.calls.append((host, port))
        return self._answers.pop(0)


def client(names: Names, *, allow_private: bool = True) -> httpx2.AsyncClient:
    transport = PinnedTransport(allow_private=allow_private, resolve=names)
    return httpx2.AsyncClient(transport=transport, trust_env=False)


def hello(request: Request) -> Reply:
    return Reply(body=b"hello")


async def test_the_site_hears_its_own_name_at_the_address_that_was_checked() -> None:
    names = Names(["127.0.0.1"])
    async with scripted(Reply(body=b"hello")) as server, client(names) as web:
        answer = await web.get(f"http://Lessons.Example:{server.port}/a?b=c")
    assert answer.text == "hello"
    assert server.requests[0].headers["host"] == f"lessons.example:{server.port}"
    assert server.requests[0].target == "/a?b=c"
    assert names.calls == [("lessons.example", server.port)]


async def test_a_name_that_answers_differently_the_second_time_changes_nothing() -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with (
        answering(hello) as server,
        answering(hello, host="127.0.0.2", port=server.port) as canary,
        client(names) as web,
    ):
        for _ in range(3):
            await web.get(f"http://lessons.example:{server.port}/", headers={"Connection": "close"})
    assert len(server.requests) == 3
    assert canary.requests == []
    assert len(names.calls) == 1


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%lo"],
    ],
)
async def test_a_name_that_leads_to_one_private_address_is_refused_altogether(addresses: list[str]) -> None:
    async with answering(hello) as canary, client(Names(addresses), allow_private=False) as web:
        with pytest.raises(BadSource, match=r"The host lessons\.example is not allowed") as caught:
            await web.get(f"http://lessons.example:{canary.port}/")
    assert addresses[-1] in caught.value.message
    assert canary.requests == []


async def test_what_a_resolver_calls_an_address_must_be_one() -> None:
    async with client(Names(["lessons.internal"])) as web:
        with pytest.raises(BadSource, match="not an IP address"):
            await web.get("http://lessons.example/")


async def test_an_address_in_numbers_is_checked_without_being_looked_up() -> None:
    names = Names()
    async with answering(hello) as server, client(names, allow_private=False) as web:
        with pytest.raises(BadSource, match=r"127\.0\.0\.1 is this machine"):
            await web.get(server.url)
    async with answering(hello) as server, client(names) as web:
        assert (await web.get(server.url)).text == "hello"
    assert names.calls == []


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with scripted(Reply(body=b"hello")) as server, client(Names(["127.0.0.9", "127.0.0.1"])) as web:
        assert (await web.get(f"http://lessons.example:{server.port}/")).text == "hello"


async def test_a_host_none_of_whose_addresses_answers_cannot_be_reached() -> None:
    async with scripted() as server:
        port = server.port
    async with client(Names(["127.0.0.9", "127.0.0.1"])) as web:
        with pytest.raises(httpx2.ConnectError):
            await web.get(f"http://lessons.example:{port}/")


async def test_a_host_without_an_address_is_unavailable() -> None:
    async with client(Names([])) as web:
        with pytest.raises(Unavailable, match="has no address"):
            await web.get("http://lessons.example/")


@pytest.mark.parametrize(
    ("url", "name"), [("https://lessons.example/", "lessons.example"), ("https://[2606:4700::1111]/", None)]
)
async def test_a_certificate_is_checked_against_the_name_and_not_the_address(url: str, name: str | None) -> None:
    seen: list[httpx2.Request] = []

    def record(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200)

    names = Names(["93.184.216.34"])
    transport = PinnedTransport(allow_private=False, resolve=names, inner=httpx2.MockTransport(record))
    async with httpx2.AsyncClient(transport=transport) as web:
        await web.get(url)
    assert seen[0].extensions.get("sni_hostname") == name
    assert seen[0].url.host == ("93.184.216.34" if name else "2606:4700::1111")
    assert names.calls == ([("lessons.example", 443)] if name else [])


async def test_the_machines_resolver_knows_the_machine() -> None:
    assert set(await system_addresses("localhost", 80)) <= {"127.0.0.1", "::1"}


async def test_a_name_the_resolver_cannot_even_ask_for_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be resolved"):
        await system_addresses("x" * 64 + ".example", 80)
