"""A fetched site is what its manifest lists."""

import json
from pathlib import Path

import pytest

from bookwise.domain.errors import BadSource
from tests.support.folders import found, rules

PAGES = [
    {
        "file": "p/1.html",
        "url": "https://s.example/docs/module-1-ros2/chapter-2/03-nodes",
        "title": "Nodes",
    },
    {"file": "p/2.html", "url": "https://s.example/docs/#top", "title": 5},
    {"file": "p/3.html", "url": "javascript:alert(1)"},
    {"file": "../../etc/passwd", "url": "https://s.example/docs/x"},
    {"file": "p/gone.html", "url": "https://s.example/docs/gone"},
    "nonsense",
]
FILES: dict[str, str | bytes] = {
    "bookwise-site.json": json.dumps({"base_url": "https://s.example/docs/", "pages": PAGES}),
    "p/1.html": "<p>1",
    "p/2.html": "<p>2",
    "p/3.html": "<p>3",
    "p/x.md": "x",
}


def test_the_manifest_is_the_book(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert (site.site, site.title, site.base_url) == ("site", "s.example", "https://s.example/docs/")
    first, second = site.files
    assert (first.source_file, first.title, first.format) == ("p/1.html", "Nodes", "html")
    assert first.url == "https://s.example/docs/module-1-ros2/chapter-2/03-nodes"
    assert second.url == "https://s.example/docs/"
    assert rules(site) == {"p/3.html": "not-in-manifest", "p/x.md": "not-a-lesson"}
    assert len(site.warnings) == 4


def test_numbers_are_read_from_the_address(tmp_path: Path) -> None:
    place = found(tmp_path, FILES).files[0].position
    assert (place.module, place.chapter, place.lesson) == ("ros2", 2, 3)


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"pages": 5}', "[" * 100_000, b"\xff"])
def test_a_damaged_manifest_is_reported(tmp_path: Path, manifest: str | bytes) -> None:
    with pytest.raises(BadSource, match=r"bookwise-site\.json cannot be used"):
        found(tmp_path, FILES | {"bookwise-site.json": manifest})
