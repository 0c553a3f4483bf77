"""What is seen of a page in passing."""

import codecs
import time

import pytest

from bookwise.adapters.web.page import forbids_indexing, summarize_page, utf8


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Loops &amp; lists | The Book</title>", "Loops & lists | The Book"),
        ("<title>\n  Loops\n  and lists </title>", "Loops and lists"),
        ("<TITLE lang=en>Loops</TITLE>", "Loops"),
        ("<title>Site</title><h1>The Book</h1><main><h1>Loops</h1></main>", "Loops"),
        ("<title>Site</title><article><h1>Loops</h1><h1>More</h1></article>", "Loops"),
        ("<title>Site</title><div role='main'><h1>Loops</h1></div>", "Loops"),
        ("<title>Site</title><div data-role='main'><h1>Menu</h1></div>", "Site"),
        ("<title>Site</title><h1>The Book</h1>", "Site"),
        ('<main><h1 id="c">C# <em>basics</em><a class="headerlink" href="#c">¶</a></h1>', "C# basics"),
        ('<main><h1><a class="header" href="#l">Loops</a><a href="#l">#</a>\u200b</h1>', "Loops"),
        ("<!-- <title>Old</title> --><title>New</title>", "New"),
        ("<script>'<title>No</title>'</script><title>Yes</title>", "Yes"),
        ("<noscript><main></noscript><title>Yes</title><h1>No</h1>", "Yes"),
        ('<p title="a > b"><title>Yes</title>', "Yes"),
        ("a < b <title>Yes</title>", "Yes"),
        ("<main><h1></h1></main><title>Yes</title>", "Yes"),
        ("<title>" + "x" * 1_000, "x" * 300),
        ("<title never ends", ""),
        ("<!-- never ends <title>No</title>", ""),
        ("<script>never ends <title>No</title>", ""),
        ("no markup", ""),
        ("", ""),
    ],
)
def test_the_title_is_the_main_heading_or_else_the_title_of_the_page(page: str, title: str) -> None:
    assert summarize_page(page).title == title


@pytest.mark.parametrize(
    "meta",
    [
        '<meta name="robots" content="noindex">',
        "<META NAME='Robots' CONTENT='follow, NoIndex'>",
        "<meta content=noindex name=robots>",
        '<meta name="robots" content="none" />',
        '<meta name="bookwise" content="noindex">',
        '<p><meta charset="utf-8"><meta name=robots content="&#110;oindex">',
    ],
)
def test_a_page_can_ask_not_to_be_indexed(meta: str) -> None:
    assert summarize_page(f"<title>Loops</title>{meta}").noindex


@pytest.mark.parametrize(
    "meta",
    [
        '<meta name="robots" content="index, nofollow">',
        '<meta name="googlebot" content="noindex">',
        '<!-- <meta name="robots" content="noindex"> -->',
        '<meta name="robots" content="noindexing">',
        '<meta name="description" content="noindex">',
        "<p>Write &lt;meta name=robots content=noindex&gt;.</p>",
    ],
)
def test_a_page_that_does_not_ask_is_indexed(meta: str) -> None:
    assert not summarize_page(f"<title>Loops</title>{meta}").noindex


def test_a_header_can_ask_as_well() -> None:
    assert forbids_indexing("noindex, nofollow")
    assert forbids_indexing("bookwise: noindex")
    assert not forbids_indexing("")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<", '<a "', "<a title='", "<!--", "<title>", "<main><h1>", "<script>", "<meta a="),
        *("<meta " + "a" * 1_000 + ">", "<meta a" + " " * 1_000 + "b>", "<main><h1>" + "<a" * 5_000),
    ],
)
@pytest.mark.usefixtures("without_collector")
def test_a_page_made_to_be_slow_takes_twice_the_time_for_twice_the_bytes(piece: str) -> None:
    def seconds(size: int) -> float:
        page = (piece * (size // len(piece) + 1))[:size]
        started = time.thread_time()
        summarize_page(page)
        return time.thread_time() - started

    assert seconds(400_000) < 8 * seconds(100_000) + 0.05  # four times is linear, sixteen times quadratic


@pytest.mark.parametrize(
    ("content_type", "page"),
    [
        ("text/html; charset=ISO-8859-1", "größer “so”".encode("cp1252")),
        ("text/html", b'<meta charset="windows-1252">' + "größer “so”".encode("cp1252")),
        ("text/html", b'<meta content="text/html; charset=shift_jis">' + "語".encode("shift_jis")),
    ],
)
def test_a_page_in_another_encoding_is_kept_as_utf8(content_type: str, page: bytes) -> None:
    converted = utf8(page, content_type)
    assert converted.startswith(codecs.BOM_UTF8)
    assert converted.decode("utf-8-sig").endswith(("größer “so”", "語"))


@pytest.mark.parametrize(
    ("content_type", "page"),
    [
        ("text/html; charset=utf-8", "größer".encode()),
        ("text/html", b"plain"),
        ("text/html; charset=latin1", codecs.BOM_UTF8 + "größer".encode()),
        ("text/html; charset=klingon", b"\xff"),
        ("text/html; charset=punycode", b"abc-"),
        ("text/html; charset=hex", b"abcd"),
        ("text/html; charset=shift_jis", b"\x80\xff"),
        ("text/html", b'<meta charset="utf-16">plain'),
    ],
)
def test_a_page_whose_encoding_is_utf8_or_unclear_is_kept_as_it_is(content_type: str, page: bytes) -> None:
    assert utf8(page, content_type) == page
