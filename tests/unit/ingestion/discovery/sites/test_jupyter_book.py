"""A Jupyter Book or MyST project is what its table of contents lists."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.folders import BASE, found, names, rules, urls


def test_parts_chapters_and_sections_give_the_order(tmp_path: Path) -> None:
    contents = """
format: jb-book
root: intro
parts:
  - caption: Data
    chapters:
      - file: data/a
        sections:
          - file: data/b.ipynb
            title: Bee
          - url: https://x.example
  - caption: Models
    chapters:
      - glob: models/*
      - file: gone
"""
    site = found(
        tmp_path,
        {
            "book/_toc.yml": contents,
            "book/_config.yml": "title: Numbers\nhtml:\n  baseurl: https://n.example/\n",
            "book/intro.md": "0",
            "book/data/a.md": "1",
            "book/data/b.ipynb": "{}",
            "book/models/m10.md": "2",
            "book/models/m2.md": "3",
            "book/stray.md": "4",
        },
    )
    assert (site.site, site.title, site.base_url) == ("jupyter-book", "Numbers", "https://n.example/")
    assert names(site) == [
        "book/intro.md",
        "book/data/a.md",
        "book/data/b.ipynb",
        "book/models/m2.md",
        "book/models/m10.md",
    ]
    assert rules(site) == {"book/stray.md": "not-in-toc"}
    assert site.files[2].title == "Bee"
    assert site.files[2].format == "notebook"
    assert site.files[2].breadcrumb == ("Data",)
    assert site.files[2].url == "https://n.example/data/b.html"
    assert site.warnings == ("book/_toc.yml lists gone, which does not exist.",)


def test_chapters_without_parts_are_counted(tmp_path: Path) -> None:
    contents = "root: r\nchapters:\n- file: a\n  sections:\n  - file: b\n- file: c\n"
    files: dict[str, str | bytes] = {f"{name}.md": name for name in "rabc"}
    site = found(tmp_path, files | {"_toc.yml": contents})
    assert [(file.position.chapter, file.position.lesson) for file in site.files] == [
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
    ]


def test_a_list_is_a_table_too(tmp_path: Path) -> None:
    site = found(tmp_path, {"_toc.yml": "- file: b\n- file: a\n- 5\n", "a.md": "1", "b.md": "2"})
    assert names(site) == ["b.md", "a.md"]


def test_myst_projects_are_read(tmp_path: Path) -> None:
    config = """
project:
  title: Mystery
  toc:
    - file: index.md
    - title: Apps
      children:
        - file: content/Big_Data.md
        - pattern: more/*.md
"""
    files: dict[str, str | bytes] = {
        "myst.yml": config,
        "bookwise.toml": f'[book]\nbase_url = "{BASE}"',
        "index.md": "0",
        "content/Big_Data.md": "1",
        "more/x.md": "2",
    }
    site = found(tmp_path, files)
    assert site.title == "Mystery"
    assert urls(site) == {
        "index.md": BASE,
        "content/Big_Data.md": BASE + "big-data",
        "more/x.md": BASE + "x",
    }
    assert site.files[1].breadcrumb == ("Apps",)


@pytest.mark.parametrize("config", ["project: {title: X}", "[", "5", "project: 5"])
def test_a_project_without_a_table_takes_everything(tmp_path: Path, config: str) -> None:
    assert names(found(tmp_path, {"myst.yml": config, "b.md": "b", "a.md": "a"})) == ["a.md", "b.md"]


def test_a_table_without_end_harms_nothing(tmp_path: Path) -> None:
    deep = "file: a\n" + "".join(f"{' ' * i}children:\n{' ' * i}- file: a\n" for i in range(0, 100, 2))
    bomb = "a: &a [{file: a}]\n" + "".join(
        f"{b}: &{b} [{{children: *{a}}}, {{children: *{a}}}, 5]\n" for a, b in pairwise("abcdefghijklmnopqrstu")
    )
    for contents in (deep, bomb + "chapters: *u"):
        assert names(found(tmp_path, {"_toc.yml": contents, "a.md": "a"})) == ["a.md"]


def test_a_table_without_a_root_is_read(tmp_path: Path) -> None:
    site = found(tmp_path, {"_toc.yml": "chapters: [{file: b}]", "b.md": "b", "a.md": "a"})
    assert names(site) == ["b.md"]
