"""Names of one folder are clean, stable and never the same."""

from pathlib import Path

import pytest

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.reading import read_inside
from bookwise.ingestion.discovery.walk import format_of, source_names, walk
from tests.support.folders import written


def test_clean_names_keep_themselves() -> None:
    raws = ["a.md", "A.md", "ü.md", "100%.md", "a b.md", "日本.md"]
    assert list(source_names(name.encode() for name in raws).values()) == sorted(raws, key=str.encode)


def test_a_lonely_name_is_brought_to_nfc() -> None:
    assert source_names(["e\u0301.md".encode()]) == {"e\u0301.md".encode(): "\u00e9.md"}


def test_twins_get_different_names_whatever_the_order() -> None:
    composed, decomposed = "\u00e9.md".encode(), "e\u0301.md".encode()
    expected = {composed: "\u00e9.md", decomposed: "e%CC%81.md"}
    assert source_names([composed, decomposed]) == source_names([decomposed, composed]) == expected


def test_escaped_names_never_take_the_name_of_another() -> None:
    made = source_names([b"\xff.md", b"%FF.md", b"%25FF.md", b"\xfe.md"])
    assert made[b"%FF.md"] == "%FF.md"
    assert made[b"\xff.md"] == "%2525FF.md"
    assert len(set(made.values())) == 4


@pytest.mark.parametrize("raw", [b"a\nb.md", b"a\x1b[31m.md", "a\u202eb.md".encode(), "a\u2028b.md".encode()])
def test_names_that_misbehave_on_a_terminal_are_escaped(raw: bytes) -> None:
    [name] = source_names([raw]).values()
    assert name.isascii()
    assert name.isprintable()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "markdown"),
        ("A.MDX", "mdx"),
        (".md", "markdown"),
        ("md", None),
        ("a.txt", None),
        ("a.md.bak", None),
    ],
)
def test_the_extension_decides_the_format(name: str, kind: str | None) -> None:
    assert format_of(name) == kind


def test_build_output_is_skipped_next_to_project_files_and_read_elsewhere(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "build/a.md": "",
            "docs/build/b.md": "",
            "web/package.json": "",
            "web/dist/c.md": "",
            "docs/_build/d.md": "",
            "docs/node_modules/e.md": "",
            ".git/f.md": "",
        },
    )
    tree = walk(tmp_path)
    assert [name for name in tree.raw_paths if name.endswith(".md")] == ["docs/build/b.md"]
    assert [left.source_file for left in tree.left_out] == [
        "build/",
        "docs/_build/",
        "docs/node_modules/",
        "web/dist/",
    ]


def test_a_sites_own_file_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    tree = walk(written(tmp_path, {"mkdocs.yml": b"\xff", "ok.yml": "ok"}))
    assert (tree.text("mkdocs.yml"), tree.text("none"), tree.text("ok.yml")) == ("", "", "ok")
    assert tree.text("ok.yml", limit=1) == ""


@pytest.mark.parametrize("path", [b"/etc/passwd", b"../outside", b"a/../../outside"])
def test_no_path_leads_out_of_the_book(tmp_path: Path, path: bytes) -> None:
    written(tmp_path, {"outside": "secret", "book/a/x.md": "x"})
    with pytest.raises(BadLesson) as caught:
        read_inside(tmp_path / "book", path, 100)
    assert caught.value.reason == "symlink-outside"


def test_a_path_that_is_too_long_is_unreadable_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(BadLesson) as caught:
        read_inside(tmp_path, b"x" * 5000, 100)
    assert caught.value.reason == "unreadable"


def test_a_file_whose_size_and_content_disagree_is_not_taken() -> None:
    """The kernel's own files claim to be empty and are not: like a file that grows while it is read."""
    for limit, reason in ((1_000_000, "changed"), (10, "too-large")):
        with pytest.raises(BadLesson) as caught:
            read_inside(Path("/proc/self"), b"status", limit)
        assert caught.value.reason == reason
