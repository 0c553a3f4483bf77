"""A Quarto project is read as Quarto publishes it."""

from pathlib import Path

import pytest

from tests.support.folders import found, names, rules, urls

BOOK = """
project:
  type: book
book:
  title: "Numbers"
  site-url: https://q.example/numbers
  chapters:
    - index.qmd
    - part: "Basics"
      chapters:
        - basics/intro.qmd
        - basics/lab.ipynb
    - part: tools.md
      chapters:
        - file: tools/shell.md
          text: The shell
    - gone.qmd
  appendices:
    - extra.qmd
"""
FILES: dict[str, str | bytes] = {
    "_quarto.yml": BOOK,
    "index.qmd": "# Preface",
    "basics/intro.qmd": "# Intro",
    "basics/lab.ipynb": '{"cells": []}',
    "tools.md": "# Tools",
    "tools/shell.md": "# Shell",
    "extra.qmd": "# Extra",
    "notes.qmd": "# Notes",
    "_setup.qmd": "# Setup",
    "README.md": "About",
    "_book/index.html": "<h1>Built</h1>",
}


def test_the_chapters_of_a_book_in_their_order(tmp_path: Path) -> None:
    book = found(tmp_path, FILES)
    assert (book.site, book.title, book.base_url) == ("quarto", "Numbers", "https://q.example/numbers/")
    assert names(book) == [
        "index.qmd",
        "basics/intro.qmd",
        "basics/lab.ipynb",
        "tools.md",
        "tools/shell.md",
        "extra.qmd",
    ]
    assert rules(book) == {
        "_book/": "not-a-lesson",
        "_setup.qmd": "partial",
        "README.md": "excluded",
        "notes.qmd": "not-in-chapters",
    }
    assert book.warnings == ("_quarto.yml lists gone.qmd, which does not exist.",)


def test_chapters_have_addresses_parts_and_titles(tmp_path: Path) -> None:
    files = {file.source_file: file for file in found(tmp_path, FILES).files}
    assert files["basics/intro.qmd"].url == "https://q.example/numbers/basics/intro.html"
    assert files["basics/intro.qmd"].breadcrumb == ("Basics",)
    assert files["extra.qmd"].breadcrumb == ("Appendices",)
    assert files["tools/shell.md"].title == "The shell"


def test_a_website_has_all_its_pages_those_of_the_sidebar_first(tmp_path: Path) -> None:
    config = """
project: {type: website, render: ["*.qmd", "!drafts/"]}
website:
  title: Site
  sidebar:
    contents:
      - section: Guide
        contents: [z.qmd, {href: a.qmd, text: First}]
      - auto: "more/*.qmd"
"""
    pages = ["z.qmd", "a.qmd", "more/b.qmd", "c.qmd"]
    files: dict[str, str | bytes] = {name: name for name in [*pages, "drafts/d.qmd"]}
    site = found(tmp_path, files | {"_quarto.yml": config})
    assert names(site) == pages
    assert rules(site) == {"drafts/d.qmd": "excluded"}
    assert set(urls(site).values()) == {""}


@pytest.mark.parametrize("config", ["book: [", "book: 1", "- x", "a: &a [*a]\nbook: {chapters: *a}", ""])
def test_a_broken_configuration_loses_no_page(tmp_path: Path, config: str) -> None:
    site = found(tmp_path, {"_quarto.yml": config, "a.qmd": "# A", "b.qmd": "# B"})
    assert (site.site, names(site)) == ("quarto", ["a.qmd", "b.qmd"])
