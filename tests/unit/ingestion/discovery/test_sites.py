"""Addresses stay below the book's, and configurations are taken apart without running them."""

import pytest

from bookwise.domain.errors import BadSource
from bookwise.ingestion.discovery.sites.javascript import objects, tokens
from bookwise.ingestion.discovery.sites.site import base_address, inner_folder, join_url, missing_files
from bookwise.ingestion.discovery.sites.yaml_text import mapping, plain_values
from tests.support.folders import BASE


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("", BASE),
        ("a/b", BASE + "a/b"),
        ("/a/", BASE + "a/"),
        ("//evil.example/x", BASE + "evil.example/x"),
        ("../../x", BASE + "x"),
        ("a b/ü?q#f", BASE + "a%20b/%C3%BC%3Fq%23f"),
        ("javascript:alert(1)", BASE + "javascript:alert(1)"),
        ("\\\\evil.example", BASE + "%5C%5Cevil.example"),
    ],
)
def test_no_path_leaves_the_books_address(path: str, url: str) -> None:
    assert join_url(BASE, path) == url


@pytest.mark.parametrize(
    ("parts", "address"),
    [
        (("https://x.example", "/", "docs"), "https://x.example/docs/"),
        (("https://x.example/", "", ""), "https://x.example/"),
        (("x.example",), ""),
        (("file:///etc",), ""),
        (("https://",), ""),
        (("",), ""),
    ],
)
def test_an_address_is_a_web_address_or_none(parts: tuple[str, ...], address: str) -> None:
    assert base_address(*parts) == address


@pytest.mark.parametrize(
    ("folder", "named", "inner"),
    [
        ("", "docs", "docs/"),
        ("a/", "./b/", "a/b/"),
        ("a/", "../b", "b/"),
        ("", ".", ""),
        ("", "../x", ""),
        ("a/", "/etc", "a/etc/"),
    ],
)
def test_a_folder_named_by_a_configuration_stays_inside(folder: str, named: str, inner: str) -> None:
    assert inner_folder(folder, named) == inner


def test_javascript_is_taken_apart_and_never_run() -> None:
    source = r"""x = {'a': 'it\'s \u0041\x42\u{43}\n', // 'no'
      b: "\q" /* no */, c: `t`, d: `${e}`, f: true, g: 1, 'h': {i: 'j'}, k: l ? m : 'n', 'un"""
    [outer, inner] = objects(source)
    assert outer.values == {"a": "it's ABC\n", "b": "q", "c": "t", "f": "true"}
    assert (inner.key, inner.parents, inner.values) == ("h", ("",), {"i": "j"})
    assert [token.text for token in tokens("'\\ud800' '\\u{ffffff}'")] == ["\ufffd", "\ufffd"]


def test_yaml_of_a_site_holds_plain_values_only() -> None:
    assert plain_values("a: !x {b: 1}\nc: !ENV D\ne: !ENV [F, [g]]\n<<: {h: 1}\ni: 1") == {
        "a": None,
        "c": None,
        "e": None,
        "i": 1,
    }
    assert mapping("- a") == mapping("a: [") == mapping("{[]: 1}") == {}
    with pytest.raises(BadSource, match="longer than"):
        plain_values("#" * 1_000_001)


def test_of_many_missing_files_the_first_are_named() -> None:
    assert missing_files("c", ["a", "a"]) == ["c lists a, which does not exist."]
    assert missing_files("c", map(str, range(50)))[-1] == "c lists 30 more files that do not exist."
