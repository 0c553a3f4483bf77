"""Globs mean what people expect, and never take long."""

import pytest

from bookwise.ingestion.discovery.globs import matches, matches_any


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("a.md", "a.md"),
        ("*.md", "a.md"),
        ("**/*.md", "a.md"),
        ("**/*.md", "x/y/a.md"),
        ("x/**", "x/y/a.md"),
        ("x/", "x/y/a.md"),
        ("./x/*.md", "x/a.md"),
        ("/x/a?.md", "x/ab.md"),
        ("**/y/**", "x/y/z/a.md"),
        ("x/**/a.md", "x/a.md"),
        ("*", "[a].md"),
    ],
)
def test_a_glob_fits(glob: str, path: str) -> None:
    assert matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.md", "x/a.md"),
        ("x", "x/a.md"),
        ("x/*", "x/y/a.md"),
        ("a.md", "x/a.md"),
        ("a.md", "A.md"),
        ("?.md", ".md"),
        ("[a].md", "a.md"),
        ("x/**", "xy/a.md"),
        ("", "a"),
    ],
)
def test_a_glob_does_not_fit(glob: str, path: str) -> None:
    assert not matches(glob, path)


def test_a_hostile_glob_takes_no_time() -> None:
    assert not matches("**/" * 300 + "x", "a/" * 300 + "a")
    assert not matches("*a" * 300 + "b", "a" * 3000)


def test_any_of_several() -> None:
    assert matches_any(["x", "*.md"], "a.md")
    assert not matches_any([], "a.md")
