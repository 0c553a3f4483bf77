"""Which pages of a live site are requested: robots.txt and sitemaps."""

import gzip
import itertools
from pathlib import Path

import pytest

from bookwise.adapters.site import mirror
from bookwise.domain.errors import BadSource, Unavailable
from tests.support.scripted_http import Reply, Request, answering, routed
from tests.support.small_sites import (
    LOCAL,
    page,
    reasons,
    robots,
    site,
    sitemap,
    titles,
    visit,
)

pytestmark = pytest.mark.anyio


async def test_pages_that_robots_txt_forbids_are_not_requested(tmp_path: Path) -> None:
    rules = robots("User-agent: *", "Disallow: /", "", "User-agent: bookwise", "Disallow: /secret")
    async with routed(site("open", "secret") | {"/robots.txt": rules}) as server:
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert titles(tmp_path) == ["Open"]
    assert reasons(report.skipped) == [("secret", "robots")]
    assert "/secret" not in server.targets


@pytest.mark.parametrize("rules", [robots("User-agent: *", "Disallow: /"), Reply(status=401), Reply(status=403)])
async def test_a_site_that_forbids_everything_is_left_alone(tmp_path: Path, rules: Reply) -> None:
    async with routed(site("open") | {"/robots.txt": rules}) as server:
        with pytest.raises(BadSource, match=r"robots\.txt does not allow bookwise") as caught:
            await mirror(server.url, tmp_path, options=LOCAL)
    assert server.targets == ["/robots.txt"]
    assert caught.value.advice


async def test_a_site_that_forbids_every_listed_page_is_left_alone(tmp_path: Path) -> None:
    rules = robots("User-agent: *", "Disallow: /open")
    with pytest.raises(BadSource, match=r"robots\.txt does not allow"):
        await visit(site("open") | {"/robots.txt": rules}, tmp_path)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_site_that_cannot_tell_its_rules_is_unavailable(tmp_path: Path, status: int) -> None:
    with pytest.raises(Unavailable, match=f"robots.txt returned HTTP {status}"):
        await visit(site("open") | {"/robots.txt": Reply(status=status)}, tmp_path)


async def test_a_redirect_that_robots_txt_forbids_is_not_followed(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"Location": "/secret"})
    rules = robots("User-agent: *", "Disallow: /secret")
    async with routed(site("a", b=moved) | {"/sitemap.xml": sitemap("/a", "/b"), "/robots.txt": rules}) as server:
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert "forbidden by robots.txt" in report.failed[0].detail
    assert "/secret" not in server.targets


async def test_an_index_of_sitemaps_is_followed(tmp_path: Path) -> None:
    routes = site("a", "b", "c") | {
        "/sitemap.xml": sitemap("/one.xml", "/two.xml", "/sitemap.xml", index=True),
        "/one.xml": sitemap("/a", "/b"),
        "/two.xml": sitemap("/b", "/c"),
    }
    await visit(routes, tmp_path)
    assert titles(tmp_path) == ["A", "B", "C"]


@pytest.mark.parametrize("line", ["Sitemap: /maps/book.xml", "sitemap: {url}/maps/book.xml"])
async def test_robots_txt_says_where_the_sitemap_is(tmp_path: Path, line: str) -> None:
    routes = {"/maps/book.xml": sitemap("/a"), "/a": page("A")}
    async with answering(lambda request: routes.get(request.target, Reply(status=404))) as server:
        routes["/robots.txt"] = robots(line.format(url=server.url))
        await mirror(server.url, tmp_path, options=LOCAL)
    assert titles(tmp_path) == ["A"]


async def test_a_book_below_a_path_has_its_own_sitemap_and_only_its_own_pages(tmp_path: Path) -> None:
    routes = {
        "/sitemap.xml": sitemap("/", "/shop", "/book/a"),
        "/book/sitemap.xml": sitemap("/book/", "/book/a", "/shop"),
        "/book/": page("Home"),
        "/book/a": page("A"),
        "/shop": page("Shop"),
    }
    report = await visit(routes, tmp_path, path="/book/index.html")
    assert titles(tmp_path) == ["Home", "A"]
    assert report.skipped == ()
    del routes["/book/sitemap.xml"]
    await visit(routes, tmp_path, path="/book")
    assert titles(tmp_path) == ["A"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=404), "returned HTTP 404"),
        (page("Not found"), "is not a sitemap"),
        (Reply(body=b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset/>"), "document type"),
        (Reply(body=gzip.compress(b"<urlset/>")), "is compressed"),
        (sitemap(), ""),
        (sitemap("http://other.example/a"), ""),
    ],
)
async def test_a_site_without_a_usable_sitemap_is_no_book(tmp_path: Path, reply: Reply, reason: str) -> None:
    with pytest.raises(BadSource, match="has no sitemap that lists its pages") as caught:
        await visit({"/sitemap.xml": reply}, tmp_path)
    assert reason in caught.value.message
    assert "sitemap.xml" in caught.value.advice


async def test_compressed_and_foreign_sitemaps_are_passed_over_with_a_reason(tmp_path: Path) -> None:
    names = ("/a.xml", "/b.xml.gz", "http://other.example/c.xml", "/gone.xml")
    routes = {"/sitemap.xml": sitemap(*names, index=True), "/a.xml": sitemap("/a"), "/a": page("A")}
    report = await visit(routes, tmp_path)
    assert reasons(report.skipped) == [
        ("b.xml.gz", "compressed"),
        ("c.xml", "other-site"),
        ("gone.xml", "missing"),
    ]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=503), Unavailable),
        (Reply(body=b"<urlset><url>"), BadSource),
        (Reply(body=b"<urlset/>", cut_after=3), Unavailable),
        (Reply(status=302, headers={"Location": "http://other.example/a.xml"}), BadSource),
    ],
)
async def test_pages_do_not_vanish_because_one_sitemap_could_not_be_read(
    tmp_path: Path, reply: Reply, error: type[Exception]
) -> None:
    routes = site("a", "b")
    routes["/sitemap.xml"] = sitemap("/one.xml", "/two.xml", index=True)
    routes |= {"/one.xml": sitemap("/a"), "/two.xml": sitemap("/b")}
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        routes["/two.xml"] = reply
        with pytest.raises(error):
            await mirror(server.url, tmp_path, options=LOCAL)
    assert titles(tmp_path) == ["A", "B"]


async def test_an_endless_chain_of_sitemaps_is_cut(tmp_path: Path) -> None:
    numbers = itertools.count()

    def endless(request: Request) -> Reply:
        return Reply(status=404) if "robots" in request.target else sitemap(f"/{next(numbers)}.xml", index=True)

    async with answering(endless) as server:
        with pytest.raises(BadSource, match="more than 50 sitemaps"):
            await mirror(server.url, tmp_path, options=LOCAL)


async def test_addresses_on_other_hosts_or_that_are_none_are_not_requested(tmp_path: Path) -> None:
    async with routed({"/": page("Canary")}) as canary:
        names = ("/a", canary.url, "http://2130706433/", "file:///etc/passwd", "http://169.254.169.254/x")
        async with routed(site("a") | {"/sitemap.xml": sitemap(*names)}) as server:
            report = await mirror(server.url, tmp_path, options=LOCAL)
    assert titles(tmp_path) == ["A"]
    assert sorted(problem.reason for problem in report.skipped) == [
        "no-address",
        "no-address",
        "other-site",
        "other-site",
    ]
    assert canary.requests == []
