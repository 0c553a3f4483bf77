"""An mdBook is what its summary lists."""

from pathlib import Path

import pytest

from tests.support.folders import BASE, found, names, rules, urls

SUMMARY = """
# Summary

[Preface](./preface.md)

- [One `code`](one/README.md)
  - [Inner](one/in%20ner.md)
    - [Deeper](one/deeper.md#part)
  - [A draft]()
- [Two](two.md)
- [Gone](gone.md)
- [Elsewhere](https://x.example/a.md)
- [Out](../out.md)

# Part two

- [Three](three.md)

---

[After](after.md)
"""
FILES: dict[str, str | bytes] = {
    "book.toml": '[book]\ntitle = "Rusty"\n',
    "src/SUMMARY.md": SUMMARY,
    "out.md": "out",
    **{
        f"src/{name}.md": name
        for name in (
            "preface",
            "one/README",
            "one/in ner",
            "one/deeper",
            "two",
            "three",
            "after",
            "stray",
        )
    },
}


def test_the_summary_is_the_book(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert (site.site, site.title, site.base_url) == ("mdbook", "Rusty", "")
    assert names(site) == [
        "src/preface.md",
        "src/one/README.md",
        "src/one/in ner.md",
        "src/one/deeper.md",
        "src/two.md",
        "src/three.md",
        "src/after.md",
    ]
    assert rules(site) == {"src/stray.md": "not-in-summary", "out.md": "not-a-lesson"}
    assert site.warnings == (
        "src/SUMMARY.md lists gone.md, which does not exist.",
        "src/SUMMARY.md lists ../out.md, which does not exist.",
    )


def test_titles_breadcrumbs_and_numbers_follow_it(tmp_path: Path) -> None:
    files = {file.source_file: file for file in found(tmp_path, FILES).files}
    assert files["src/one/README.md"].title == "One code"
    assert files["src/one/deeper.md"].breadcrumb == ("One code", "Inner")
    assert files["src/three.md"].breadcrumb == ("Part two",)
    three, two = files["src/three.md"].position, files["src/two.md"].position
    assert (two.chapter, two.lesson, three.lesson) == (1, 0, 0)
    assert three.chapter > two.chapter


def test_addresses_end_in_html(tmp_path: Path) -> None:
    profile = f'[book]\nbase_url = "{BASE}"'
    site = found(tmp_path, FILES | {"bookwise.toml": profile})
    assert urls(site)["src/two.md"] == BASE + "two.html"
    assert urls(site)["src/one/README.md"] == BASE + "one/index.html"
    assert urls(site)["src/one/in ner.md"] == BASE + "one/in%20ner.html"


@pytest.mark.parametrize("folder", ["", "src/", "text/"])
def test_a_summary_is_enough(tmp_path: Path, folder: str) -> None:
    site = found(tmp_path, {f"{folder}SUMMARY.md": "- [A](a.md)", f"{folder}a.md": "a", f"{folder}b.md": "b"})
    assert (site.site, names(site)) == ("mdbook", [f"{folder}a.md"])
    assert rules(site) == {f"{folder}b.md": "not-in-summary"}


def test_its_source_folder_may_have_another_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "book.toml": '[book]\nsrc = "text"',
        "text/SUMMARY.md": "- [A](a.md)",
    }
    assert names(found(tmp_path, files | {"text/a.md": "a"})) == ["text/a.md"]


def test_a_damaged_book_toml_loses_only_the_title(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "book.toml": "[book",
        "src/SUMMARY.md": "- [A](a.md)",
        "src/a.md": "a",
    }
    site = found(tmp_path, files)
    assert names(site) == ["src/a.md"]
    assert "book.toml was ignored" in site.warnings[0]


@pytest.mark.parametrize(
    ("line", "title", "file"),
    [
        ("* [A \\[b\\] [c]](a.md)", "A [b] [c]", "a.md"),
        ("1. [**Bold** `code`](<a b.md>)", "Bold code", "a b.md"),
        ('- [A](a(1).md "hint")', "A", "a(1).md"),
        ("[A](a.md)", "A", "a.md"),
    ],
)
def test_links_are_read_in_every_dress(tmp_path: Path, line: str, title: str, file: str) -> None:
    site = found(tmp_path, {"SUMMARY.md": line, file: "a"})
    assert [(one.title, one.source_file) for one in site.files] == [(title, file)]


def test_what_is_commented_out_is_not_listed(tmp_path: Path) -> None:
    summary = "- [A](a.md)\n<!--\n- [B](b.md)\n-->\n- [C](c.md)\n<!-- never closed\n- [D](d.md)"
    files: dict[str, str | bytes] = {f"{name}.md": name for name in "abcd"}
    assert names(found(tmp_path, files | {"SUMMARY.md": summary})) == ["a.md", "c.md"]


@pytest.mark.parametrize(
    "summary",
    [
        "- " * 100_000 + "[A](a.md)",
        "[" * 100_000,
        "- [" * 100_000,
        "- [A](" + "(" * 100_000,
        "<!--" * 100_000 + "-->",
        "- [A](a.md)\n" * 5000,
        "".join(" " * i + "- [A](a.md)\n" for i in range(1000)),
        "- [" + "\\" * 100_000,
        "- [A](" + "a(b)" * 50_000,
    ],
    ids=range(9),
)
def test_a_hostile_summary_harms_nothing(tmp_path: Path, summary: str) -> None:
    site = found(tmp_path, {"SUMMARY.md": summary + "\n\n- [B](b.md)\n", "a.md": "a", "b.md": "b"})
    assert "b.md" in names(site)
