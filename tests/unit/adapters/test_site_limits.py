"""Where a visit to a live site is not led, and where it ends."""

import gzip
import itertools
import tracemalloc
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.site import SiteOptions, mirror
from bookwise.domain.errors import BadSource, StoreUnavailable, Unavailable
from tests.support.scripted_http import Reply, answering, routed
from tests.support.small_sites import (
    HTML,
    LOCAL,
    files,
    manifest,
    page,
    reasons,
    site,
    sitemap,
    texts,
    titles,
    visit,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://localhost.:{port}/"),
        *("http://LOCALHOST:{port}/", "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/"),
        *("http://[::ffff:7f00:1]:{port}/", "http://2130706433:{port}/", "http://0x7f000001:{port}/"),
        *("http://0177.0.0.1:{port}/", "http://127.1:{port}/", "http://0:{port}/", "http://0.0.0.0:{port}/"),
        *("http://me@127.0.0.1:{port}/", "http://lessons.example@127.0.0.1:{port}/", "http://[::]:{port}/"),
        *(
            "http://127.0.0.1:{port}\\@lessons.example/",
            "file://127.0.0.1:{port}/",
            "ftp://127.0.0.1:{port}/",
        ),
        *(
            "http://169.254.169.254/latest/meta-data/",
            "http://[fe80::1]:{port}/",
            "http://[64:ff9b::7f00:1]:{port}/",
        ),
        *("http://10.0.0.1:{port}/", "http://192.168.0.1:{port}/", "http://224.0.0.1:{port}/"),
    ],
)
async def test_no_spelling_of_a_private_address_reaches_it(tmp_path: Path, address: str) -> None:
    async with routed(site("a")) as canary:
        with pytest.raises(BadSource) as caught:
            await mirror(address.format(port=canary.port), tmp_path / "mirror", options=SiteOptions())
    assert caught.value.advice
    assert canary.requests == []
    assert not (tmp_path / "mirror").exists()


async def test_a_public_name_that_leads_to_a_private_address_reaches_nothing(tmp_path: Path) -> None:
    async def names(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with routed(site("a")) as canary:
        url = f"http://lessons.example:{canary.port}/"
        with pytest.raises(BadSource, match=r"lessons\.example is not allowed: 127\.0\.0\.1 is this machine"):
            await mirror(url, tmp_path, options=SiteOptions(), resolve=names)
        assert canary.requests == []
        report = await mirror(url, tmp_path, options=LOCAL, resolve=names)
    assert report.base_url == url
    assert {request.headers["host"] for request in canary.requests} == {f"lessons.example:{canary.port}"}


async def test_a_name_is_looked_up_once_for_the_whole_visit(tmp_path: Path) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])

    async def names(host: str, port: int) -> list[str]:
        return next(answers)

    canary_routes = {"/": page("Canary")}
    async with (
        routed(site("a", "b", "c")) as server,
        answering(lambda _: canary_routes["/"], host="127.0.0.2", port=server.port) as canary,
    ):
        await mirror(f"http://lessons.example:{server.port}/", tmp_path, options=LOCAL, resolve=names)
    assert canary.requests == []
    assert list(answers) == [["127.0.0.2"]]


async def test_a_redirect_inside_the_site_is_followed_and_gives_the_page_its_address(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"Location": "new?v=1#part"})
    async with routed({"/sitemap.xml": sitemap("/old"), "/old": moved, "/new?v=1": page("New")}) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        [entry] = manifest(tmp_path)["pages"]
        assert (entry["title"], entry["url"]) == ("New", f"{server.url}/new?v=1")


async def test_two_addresses_that_lead_to_one_page_are_one_page(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"Location": "/a"})
    report = await visit(site("a", b=moved) | {"/sitemap.xml": sitemap("/a", "/b")}, tmp_path)
    assert titles(tmp_path) == ["A"]
    assert reasons(report.skipped) == [("a", "twice")]
    assert report.pages == len(files(tmp_path)) == 1


@pytest.mark.parametrize(
    "target",
    [
        *(
            "{canary}/",
            "http://169.254.169.254/latest/",
            "http://localhost:{port}/",
            "//[::1]:{port}/",
            "file:///x",
        ),
        *(
            "http://2130706433:{port}/",
            "http://a@127.0.0.1:{port}/",
            "http://[",
            "ftp://127.0.0.1/",
            "data:text/html,x",
        ),
    ],
)
async def test_a_redirect_to_any_other_place_is_refused(tmp_path: Path, target: str) -> None:
    async with routed({"/": page("Canary")}) as canary:
        location = target.format(canary=canary.url, port=canary.port)
        moved = Reply(status=302, headers={"Location": location})
        report = await visit(site("a", b=moved) | {"/sitemap.xml": sitemap("/a", "/b")}, tmp_path)
    assert canary.requests == []
    assert titles(tmp_path) == ["A"]
    assert reasons(report.failed) == [("b", "bad-source")]


async def test_a_site_that_moved_to_another_host_says_where(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"Location": "https://www.lessons.example/robots.txt"})
    with pytest.raises(BadSource, match=r"redirects to https://www\.lessons\.example") as caught:
        await visit({"/robots.txt": moved}, tmp_path)
    assert "new address" in caught.value.advice


async def test_a_site_where_nobody_answers_is_unavailable(tmp_path: Path) -> None:
    async with routed({}) as server:
        url = server.url
    with pytest.raises(Unavailable, match="cannot be read: ConnectError"):
        await mirror(url, tmp_path, options=LOCAL)
    async with answering(lambda _: Reply(fault="reset")) as server:
        with pytest.raises(Unavailable, match="cannot be read"):
            await mirror(server.url, tmp_path, options=LOCAL)


SHORT = replace(LOCAL, request_seconds=0.6)
SMALL = replace(LOCAL, max_page_bytes=10_000)


@pytest.mark.parametrize(
    ("bad", "options", "reason"),
    [
        (Reply(status=302, headers={"Location": "/b"}), LOCAL, "more than 5 redirects"),
        (Reply(status=302), LOCAL, "more than 5 redirects"),
        (page("B", body=itertools.repeat(b"<p>more</p>" * 100)), SMALL, "more than 10,000 bytes"),
        (page("B", body=b"x" * 10_001), SMALL, "more than 10,000 bytes"),
        (page("B", body=itertools.repeat(b" "), pause=0.01), SHORT, "took longer than 0.6 s"),
        (Reply(fault="hang"), SHORT, "took longer than 0.6 s"),
        (page("B", cut_after=10), LOCAL, "cannot be read: RemoteProtocolError"),
        (Reply(fault="reset"), LOCAL, "cannot be read"),
        (Reply(status=404), LOCAL, "returned HTTP 404"),
        (Reply(status=500), LOCAL, "returned HTTP 500"),
        (Reply(status=304), LOCAL, "returned HTTP 304"),
        (page("B", headers={**HTML, "Content-Encoding": "br"}), LOCAL, "content encoding 'br'"),
        (page("B", headers={**HTML, "Content-Encoding": "gzip"}), LOCAL, "cannot be read: error"),
        (
            page("B", headers={**HTML, "Content-Encoding": "gzip"}, body=gzip.compress(b"x" * 99)[:-9]),
            LOCAL,
            "cannot be read: error",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_page_beyond_the_limits_fails_alone(
    tmp_path: Path, bad: Reply, options: SiteOptions, reason: str
) -> None:
    routes = site("a", "c", b=bad) | {"/sitemap.xml": sitemap("/a", "/b", "/c")}
    with anyio.fail_after(15):
        report = await visit(routes, tmp_path, options=options)
    assert titles(tmp_path) == ["A", "C"]
    [problem] = report.failed
    assert reason in problem.detail


async def test_a_small_answer_that_unfolds_to_a_huge_one_is_cut_while_it_unfolds(tmp_path: Path) -> None:
    bomb = page("B", headers={**HTML, "Content-Encoding": "gzip"}, body=gzip.compress(b"\0" * 100_000_000))
    routes = site("a", b=bomb) | {"/sitemap.xml": sitemap("/a", "/b")}
    tracemalloc.start()
    report = await visit(routes, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "more than 2,097,152 bytes" in report.failed[0].detail
    assert peak < 20_000_000


async def test_a_compressed_page_is_kept_unfolded(tmp_path: Path) -> None:
    whole = page("B").body
    assert isinstance(whole, bytes)
    packed = page("B", headers={**HTML, "Content-Encoding": "gzip"}, body=gzip.compress(whole))
    await visit({"/sitemap.xml": sitemap("/b"), "/b": packed}, tmp_path)
    assert texts(tmp_path) == [whole]


async def test_a_site_with_too_many_pages_is_refused_before_they_are_fetched(tmp_path: Path) -> None:
    async with routed(site("a", "b", "c")) as server:
        with pytest.raises(BadSource, match="lists 3 pages, more than 2") as caught:
            await mirror(server.url, tmp_path, options=replace(LOCAL, max_pages=2))
    assert "BOOKWISE_SITE_MAX_PAGES" in caught.value.advice
    assert "/a" not in server.targets


async def test_a_site_with_too_many_bytes_is_refused_and_the_last_visit_stays(tmp_path: Path) -> None:
    routes = site("a", "b")
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        before = manifest(tmp_path)
        routes |= {"/b": page("B", body=b"x" * 50_000)}
        with pytest.raises(BadSource, match="too large: more than 20,000 bytes") as caught:
            await mirror(server.url, tmp_path, options=replace(LOCAL, max_total_bytes=20_000))
    assert "smaller part" in caught.value.advice
    assert manifest(tmp_path) == before
    assert len(texts(tmp_path)) == 2


async def test_a_site_that_takes_too_long_as_a_whole_is_given_up(tmp_path: Path) -> None:
    slow = site("a", b=Reply(fault="hang")) | {"/sitemap.xml": sitemap("/a", "/b")}
    with pytest.raises(Unavailable, match=r"took longer than 0\.3 s"):
        await visit(slow, tmp_path, options=replace(LOCAL, total_seconds=0.3))


async def test_a_folder_that_cannot_be_written_ends_the_visit(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await visit(site("a", "b"), tmp_path / "taken")
