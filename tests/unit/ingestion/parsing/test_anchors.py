"""Titles → fragments, as each site generator makes them."""

import time

import pytest

from bookwise.domain.books import SiteKind
from bookwise.ingestion.parsing.anchors import Slugger
from tests.support.parsed import anchors


@pytest.mark.parametrize(
    ("site", "title", "fragment"),
    [
        ("docusaurus", "Hello, World!", "hello-world"),
        ("docusaurus", "Gazebo & Unity", "gazebo--unity"),
        ("docusaurus", "✅ Compatible Versions", "-compatible-versions"),
        ("docusaurus", "snake_case and dash-ed", "snake_case-and-dash-ed"),
        ("docusaurus", "Übung 1½ für Größe", "übung-1-für-größe"),
        ("docusaurus", "中文 标题", "中文-标题"),
        ("docusaurus", "Vec<T>", "vect"),
        ("folder", "What's new?", "whats-new"),
        ("jupyter-book", "AR(1) Processes", "ar1-processes"),
        ("mdbook", "`--passes`: add more rustdoc passes", "--passes-add-more-rustdoc-passes"),
        ("mdbook", "Method-call 🐙 expressions \U0001f47c", "method-call--expressions-"),
        ("mdbook", "Matching Ranges of Values with ..=", "matching-ranges-of-values-with-"),
        ("mdbook", "Über", "Über"),
        ("mdbook", "The _ Placeholder", "the-_-placeholder"),
        ("mdbook", "中文標題 CJK title", "中文標題-cjk-title"),
        ("mkdocs", "Request body + path + query", "request-body-path-query"),
        ("mkdocs", "Žlutý kůň", "zluty-kun"),
        ("mkdocs", "snake_case - twice", "snake_case-twice"),
        ("sphinx", "C++ & Python: Nodes", "c-python-nodes"),
        ("sphinx", "1. Straße", "strasze"),
    ],
)
def test_a_title_becomes_the_fragment_of_its_site(site: SiteKind, title: str, fragment: str) -> None:
    assert Slugger(site).slug(title) == fragment


@pytest.mark.parametrize(
    ("site", "fragments"),
    [
        ("docusaurus", ["setup", "setup-1", "setup-2", "setup-1-1"]),
        ("mdbook", ["setup", "setup-1", "setup-2", "setup-1-1"]),
        ("mkdocs", ["setup", "setup_1", "setup_2", "setup-1"]),
        ("sphinx", ["setup", "id1", "id2", "setup-1"]),
    ],
)
def test_repeated_titles_are_numbered(site: SiteKind, fragments: list[str]) -> None:
    slugger = Slugger(site)
    assert [slugger.slug(title) for title in ("Setup", "Setup", "Setup", "Setup 1")] == fragments


def test_mkdocs_counts_on_from_a_number_that_is_there() -> None:
    slugger = Slugger("mkdocs")
    assert [slugger.slug(t) for t in ("a_1", "a_1", "a", "a")] == ["a_1", "a_2", "a", "a_3"]


@pytest.mark.parametrize(
    ("site", "fragments"),
    [("docusaurus", ["", "-1"]), ("mdbook", ["", "-1"]), ("mkdocs", ["_1", "_2"]), ("sphinx", ["id1", "id2"])],
)
def test_titles_without_any_letter(site: SiteKind, fragments: list[str]) -> None:
    slugger = Slugger(site)
    assert [slugger.slug("???"), slugger.slug("!!!")] == fragments


def test_an_id_written_by_hand_wins_and_is_not_given_twice() -> None:
    slugger = Slugger("mdbook")
    assert slugger.slug("Any title", "setup") == "setup"
    assert slugger.slug("Setup") == "setup-1"


def test_mkdocs_keeps_an_id_for_the_heading_that_claims_it_further_down() -> None:
    assert anchors("## Setup\n\n## Other { #setup }\n", site="mkdocs") == ["setup_1", "setup"]
    assert anchors("## Setup\n\n## Other { #setup }\n", site="mdbook") == ["setup", "setup"]


@pytest.mark.parametrize("site", ["docusaurus", "mdbook", "mkdocs", "sphinx"])
def test_a_hundred_thousand_equal_titles_stay_cheap(site: SiteKind) -> None:
    slugger = Slugger(site)
    slugger.slug("warm up")
    began = time.thread_time()
    assert len({slugger.slug("Example") for _ in range(100_000)}) == 100_000
    assert time.thread_time() - began < 5
