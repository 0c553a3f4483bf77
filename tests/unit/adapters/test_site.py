"""A live site, served on loopback, becomes a folder."""

from pathlib import Path

import pytest

from bookwise.adapters.site import MirrorReport, mirror
from bookwise.adapters.web.folder import MANIFEST
from bookwise.domain.errors import BadSource, Unavailable
from tests.support.scripted_http import Reply, Request, answering, routed
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


async def test_a_site_becomes_a_folder_with_a_manifest_in_the_order_of_its_sitemap(tmp_path: Path) -> None:
    async with routed(site("loops", "lists", "arrays")) as server:
        report = await mirror(server.url, tmp_path, options=LOCAL)
        base = f"{server.url}/"
    assert report == MirrorReport(base_url=base, pages=3, fetched=3)
    assert manifest(tmp_path)["base_url"] == base
    assert manifest(tmp_path)["fetched_at"].endswith("+00:00")
    assert titles(tmp_path) == ["Loops", "Lists", "Arrays"]
    assert [entry["url"] for entry in manifest(tmp_path)["pages"]] == [
        f"{base}loops",
        f"{base}lists",
        f"{base}arrays",
    ]
    assert texts(tmp_path)[0] == page("Loops").body
    assert {request.headers["user-agent"] for request in server.requests} == {"bookwise"}


async def test_progress_is_reported_page_by_page(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    async with routed(site("a", "b", "c")) as server:
        await mirror(server.url, tmp_path, options=LOCAL, on_page=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


async def test_at_most_four_pages_are_asked_for_at_once(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(12)]
    slow = {f"/{name}": page(name, delay=0.02) for name in names}
    async with routed(site(*names) | slow) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
    assert server.most_at_once == 4


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(headers={"Content-Type": "application/pdf"}, body=b"%PDF"), "not-html"),
        (Reply(headers={"Content-Type": "text/plain"}, body=b"text"), "not-html"),
        (Reply(body=b"<h1>untyped</h1>"), "not-html"),
        (page("B", body=b'<meta name="robots" content="noindex"><h1>B</h1>'), "noindex"),
        (page("B", headers={**HTML, "X-Robots-Tag": "noindex"}), "noindex"),
        (Reply(status=410), "gone"),
    ],
)
async def test_what_is_no_page_to_index_is_skipped_with_a_reason(tmp_path: Path, reply: Reply, reason: str) -> None:
    routes = site("a", "b")
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        routes["/b"] = reply
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert reasons(report.skipped) == [("b", reason)]
    assert report.skipped[0].detail
    assert titles(tmp_path) == ["A"]
    assert report.removed == 1
    assert len(files(tmp_path)) == 1


async def test_a_site_none_of_whose_pages_is_html_is_no_book(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match=r"No page of .* application/pdf"):
        await visit(
            site(a=Reply(headers={"Content-Type": "application/pdf"})) | {"/sitemap.xml": sitemap("/a")},
            tmp_path,
        )


async def test_a_site_none_of_whose_pages_answers_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"No page of .* HTTP 503"):
        await visit(site(a=Reply(status=503)) | {"/sitemap.xml": sitemap("/a")}, tmp_path)
    assert not (tmp_path / MANIFEST).exists()


async def test_a_page_in_another_encoding_is_kept_in_utf8(tmp_path: Path) -> None:
    latin = page(
        "B",
        headers={"Content-Type": "text/html; charset=latin-1"},
        body="<title>Größe</title>".encode("latin-1"),
    )
    await visit({"/sitemap.xml": sitemap("/b"), "/b": latin}, tmp_path)
    assert titles(tmp_path) == ["Größe"]
    assert texts(tmp_path)[0].decode("utf-8-sig") == "<title>Größe</title>"


async def test_a_page_the_site_calls_unchanged_keeps_its_copy_and_its_title(tmp_path: Path) -> None:
    stamp = "Wed, 21 Oct 2015 07:28:00 GMT"
    first = page("Loops", headers={**HTML, "ETag": '"v1"', "Last-Modified": stamp})

    def answer(request: Request) -> Reply:
        is_unchanged = request.headers.get("if-none-match") == '"v1"' and request.headers["if-modified-since"] == stamp
        pages = {"/sitemap.xml": sitemap("/loops"), "/loops": Reply(status=304) if is_unchanged else first}
        return pages.get(request.target, Reply(status=404))

    async with answering(answer) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        before = manifest(tmp_path)
        for _ in range(2):
            report = await mirror(server.url, tmp_path, options=LOCAL)
            assert (report.pages, report.fetched, report.unchanged) == (1, 0, 1)
    assert manifest(tmp_path)["pages"] == before["pages"]
    assert titles(tmp_path) == ["Loops"]
    assert texts(tmp_path) == [first.body]


async def test_a_site_is_asked_for_changes_only_where_the_copy_came_from(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"Location": "/new"})
    new = page("New", headers={**HTML, "ETag": '"v1"'})
    async with routed({"/sitemap.xml": sitemap("/old"), "/old": moved, "/new": new}) as server:
        for _ in range(2):
            await mirror(server.url, tmp_path, options=LOCAL)
    requests = [(request.target, request.headers.get("if-none-match")) for request in server.requests]
    assert ("/new", '"v1"') in requests
    assert ("/old", '"v1"') not in requests


async def test_headers_a_site_made_up_are_not_sent_back_to_it(tmp_path: Path) -> None:
    odd = page("A", headers={**HTML, "ETag": '"\xff"', "Set-Cookie": "a=\xff; Path=/"})
    async with routed({"/sitemap.xml": sitemap("/a"), "/a": odd}) as server:
        for _ in range(2):
            await mirror(server.url, tmp_path, options=LOCAL)
    assert all({"cookie", "if-none-match"}.isdisjoint(request.headers) for request in server.requests)


async def test_a_copy_that_was_damaged_is_fetched_again_without_conditions(tmp_path: Path) -> None:
    routes = site(a=page("A", headers={**HTML, "ETag": '"v1"'})) | {"/sitemap.xml": sitemap("/a")}
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        [file] = files(tmp_path)
        file.write_bytes(b"damaged")
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert report.fetched == 1
    assert texts(tmp_path) == [page("A").body]
    assert all("if-none-match" not in request.headers for request in server.requests)


async def test_a_page_with_the_same_bytes_is_unchanged_and_a_new_text_replaces_the_old(
    tmp_path: Path,
) -> None:
    routes = site("a", "b")
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        routes["/b"] = page("Better")
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert (report.fetched, report.unchanged, report.removed) == (1, 1, 0)
    assert titles(tmp_path) == ["A", "Better"]


async def test_a_page_gone_from_the_sitemap_disappears(tmp_path: Path) -> None:
    routes = site("a", "b")
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        routes["/sitemap.xml"] = sitemap("/b")
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert report.removed == 1
    assert titles(tmp_path) == ["B"]
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("bad", [Reply(status=500), Reply(status=404), Reply(fault="reset")])
async def test_a_page_that_fails_keeps_its_old_copy_and_is_reported(tmp_path: Path, bad: Reply) -> None:
    routes = site("a", "b")
    async with routed(routes) as server:
        await mirror(server.url, tmp_path, options=LOCAL)
        routes["/b"] = bad
        report = await mirror(server.url, tmp_path, options=LOCAL)
        assert reasons(report.failed) == [("b", "unavailable")]
        assert (report.pages, report.removed) == (2, 0)
        routes["/a"] = bad
        report = await mirror(server.url, tmp_path, options=LOCAL)
    assert len(report.failed) == 2
    assert titles(tmp_path) == ["A", "B"]
    assert texts(tmp_path) == [page("A").body, page("B").body]
