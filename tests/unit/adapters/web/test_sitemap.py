"""Reading sitemap files, and rejecting unsafe ones."""

import time

import httpx2
import pytest

from bookwise.adapters.web.fetch import FetchedPage
from bookwise.adapters.web.scope import scope_of
from bookwise.adapters.web.sitemap import SitemapEntries, parse_sitemap
from bookwise.domain.errors import BadSource

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + f"]><urlset {NAMESPACE}><url><loc>&i;</loc></url></urlset>"
)


def entries(body: str | bytes) -> SitemapEntries:
    raw = body if isinstance(body, bytes) else body.encode()
    url = httpx2.URL("https://lessons.example/book/sitemap.xml")
    return parse_sitemap(FetchedPage(url=url, status=200, headers=httpx2.Headers(), body=raw))


def test_a_sitemap_lists_pages_in_order() -> None:
    sitemap = entries(
        f"<?xml version='1.0' encoding='UTF-8'?><urlset {NAMESPACE} xmlns:image='http://images.example'>"
        "<url><loc> https://lessons.example/a?x=1&amp;y=2\n</loc><lastmod>2024-01-01</lastmod></url>"
        "<url><image:image><image:loc>https://lessons.example/pic.png</image:loc></image:image>"
        "<loc><![CDATA[https://lessons.example/b]]></loc></url><url></url></urlset>"
    )
    assert sitemap.pages == ("https://lessons.example/a?x=1&y=2", "https://lessons.example/b")
    assert sitemap.sitemaps == ()


def test_an_index_lists_sitemaps() -> None:
    sitemap = entries(f"<sitemapindex {NAMESPACE}><sitemap><loc>/one.xml</loc></sitemap></sitemapindex>")
    assert sitemap == SitemapEntries(sitemaps=("https://lessons.example/one.xml",))


def test_a_sitemap_without_a_namespace_is_read_too() -> None:
    assert entries("<urlset><url><loc>a.html</loc></url></urlset>").pages == ("https://lessons.example/book/a.html",)


def test_an_entry_that_is_no_address_is_passed_on_and_rejected_later() -> None:
    assert entries("<urlset><url><loc>http://x:y</loc></url></urlset>").pages


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        BOMB.encode("utf-16"),
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><urlset/>',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1/x">%p;]><urlset/>',
        "<!DOCTYPE html><html><body>Not found</body></html>",
    ],
    ids=["entities", "entities in UTF-16", "external", "parameter entity", "html"],
)
def test_a_document_type_is_refused_before_its_entities_expand(body: str | bytes) -> None:
    started = time.thread_time()
    with pytest.raises(BadSource, match="document type"):
        entries(body)
    assert time.thread_time() - started < 0.5


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<urlset><url><loc>a</loc>", "no element found"),
        ("", "no element found"),
        ("plain text", "syntax error"),
        ("<a>" * 100_000, "nested too deeply"),
        ('<?xml version="1.0" encoding="klingon"?><urlset/>', "unknown encoding"),
        (b"\x1f\x8b\x08\x00", "is compressed"),
    ],
)
def test_what_is_not_plain_xml_is_refused(body: str | bytes, reason: str) -> None:
    with pytest.raises(BadSource, match=reason) as caught:
        entries(body)
    assert caught.value.advice


def test_xml_that_is_no_sitemap_lists_nothing() -> None:
    assert entries("<rss><channel><url><loc>a</loc></url></channel></rss>") == SitemapEntries()


@pytest.mark.parametrize(
    ("address", "base"),
    [
        ("https://lessons.example", "https://lessons.example/"),
        ("https://lessons.example/book", "https://lessons.example/book/"),
        ("https://lessons.example/book/index.html?x=1#top", "https://lessons.example/book/"),
        ("https://lessons.example/book/", "https://lessons.example/book/"),
    ],
)
def test_a_book_is_everything_below_its_address(address: str, base: str) -> None:
    assert str(scope_of(address).base) == base


def test_a_page_belongs_to_the_book_by_host_port_and_folder() -> None:
    scope = scope_of("http://lessons.example/book")
    for inside in (
        "http://lessons.example/book/a",
        "http://LESSONS.example./book",
        "https://lessons.example/book/",
    ):
        assert scope.outside(httpx2.URL(inside)) == ""
    assert scope.outside(httpx2.URL("http://lessons.example/bookshop")) == "outside /book/"
    for foreign in (
        "http://lessons.example:81/book/",
        "http://other.example/book/",
        "ftp://lessons.example/book/",
    ):
        assert scope.outside(httpx2.URL(foreign)) == "on another host"
    assert scope_of("https://lessons.example/").foreign(httpx2.URL("http://lessons.example/"))
    assert scope_of("http://lessons.example:8080/").foreign(httpx2.URL("https://lessons.example/"))
