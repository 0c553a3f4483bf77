"""A MkDocs project is read as MkDocs publishes it."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.folders import found, names, rules, urls

CONFIG = """
site_name: Arms
site_url: !ENV [SITE_URL, "https://a.example/x/"]
theme:
  name: !ENV THEME
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
      run: !!python/object/apply:os.system ["false"]
nav:
  - Home: index.md
  - Guide:
    - First: guide/z.md
    - guide/a.md
    - Outside: https://elsewhere.example/x.md
    - Deep:
      - guide/deep/b.md
  - gone.md
"""
FILES: dict[str, str | bytes] = {
    "mkdocs.yml": CONFIG,
    "docs/index.md": "0",
    "docs/guide/z.md": "1",
    "docs/guide/a.md": "2",
    "docs/guide/deep/b.md": "3",
    "docs/guide/extra.md": "4",
    "docs/templates/t.md": "5",
    "docs/_kept.md": "6",
}


def test_the_navigation_comes_first_then_the_rest(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert (site.site, site.title, site.base_url) == ("mkdocs", "Arms", "https://a.example/x/")
    assert names(site) == [
        "docs/index.md",
        "docs/guide/z.md",
        "docs/guide/a.md",
        "docs/guide/deep/b.md",
        "docs/_kept.md",
        "docs/guide/extra.md",
    ]
    assert rules(site) == {"docs/templates/t.md": "excluded"}
    assert site.warnings == ("mkdocs.yml lists gone.md, which does not exist.",)


def test_titles_and_breadcrumbs_come_from_the_navigation(tmp_path: Path) -> None:
    files = {file.source_file: file for file in found(tmp_path, FILES).files}
    assert files["docs/index.md"].title == "Home"
    assert files["docs/guide/z.md"].title == "First"
    assert files["docs/guide/deep/b.md"].breadcrumb == ("Guide", "Deep")
    assert files["docs/guide/extra.md"].breadcrumb == ("Guide",)


def test_addresses_are_folders_unless_configured_otherwise(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert urls(site)["docs/index.md"] == "https://a.example/x/"
    assert urls(site)["docs/guide/z.md"] == "https://a.example/x/guide/z/"
    flat = FILES | {"mkdocs.yml": CONFIG + "use_directory_urls: false\n"}
    assert urls(found(tmp_path, flat))["docs/guide/z.md"] == "https://a.example/x/guide/z.html"
    assert urls(found(tmp_path, flat))["docs/index.md"] == "https://a.example/x/index.html"


def test_what_it_excludes_itself_is_left_out(tmp_path: Path) -> None:
    config = "exclude_docs: |\n  # drafts\n  drafts/\n  /secret.md\n  *.tmp.md\ndocs_dir: ./content/\n"
    site = found(
        tmp_path,
        {
            "mkdocs.yaml": config,
            "content/a.md": "a",
            "content/x/drafts/b.md": "b",
            "content/secret.md": "c",
            "content/x/y.tmp.md": "d",
        },
    )
    assert names(site) == ["content/a.md"]
    assert set(rules(site).values()) == {"excluded"}


@pytest.mark.parametrize(
    "config",
    [
        "nav: [",
        "- just a list",
        "nav: 5\nsite_name: [x]\nsite_url: 2024-99-99",
        "nav: " + "[" * 900_000,
        "nav:\n" + "- " * 400_000,
        "a: &a [x.md, x.md]\n"
        + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopq"))
        + "nav: *q",
        "x: &x {a: 1}\n" + "y: {<<: [" + ", ".join(["*x"] * 1000) + "]}",
        "docs_dir: ../../..",
        "a: &a [[], []]\n"
        + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopqrst"))
        + "nav: *t",
    ],
)
def test_a_hostile_configuration_harms_nothing(tmp_path: Path, config: str) -> None:
    site = found(tmp_path, {"mkdocs.yml": config, "docs/x.md": "x"})
    assert (site.site, names(site)) == ("mkdocs", ["docs/x.md"])


def test_the_edition_in_the_books_language_is_the_book(tmp_path: Path) -> None:
    editions: dict[str, str | bytes] = {}
    for language in ("de", "en", "fr"):
        for name in ("index", "a", "b"):
            editions[f"docs/{language}/docs/{name}.md"] = f"{language} {name}"
        editions[f"docs/{language}/mkdocs.yml"] = f"site_name: {language}"
    site = found(tmp_path, editions)
    assert site.title == "en"
    assert names(site) == ["docs/en/docs/index.md", "docs/en/docs/a.md", "docs/en/docs/b.md"]
    assert set(rules(site).values()) == {"i18n-mirror"}


def test_the_profile_may_name_the_folder_of_lessons(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "mkdocs.yml": "nav: [a.md, {B: {c: d}}, 5]",
        "text/a.md": "a",
        "docs/b.md": "b",
    }
    assert names(found(tmp_path, files | {"bookwise.toml": '[book]\ndocs = "text"'})) == ["text/a.md"]
