"""A Hugo project is read as Hugo publishes it."""

from pathlib import Path

import pytest

from bookwise.ingestion.discover import Discovery
from tests.support.folders import found, names, rules, urls

CONFIG = 'baseURL = "https://h.example/book/"\ntitle = "Robots"\n'
SITE = "https://h.example/book/"
FILES: dict[str, str | bytes] = {
    "hugo.toml": CONFIG,
    "content/_index.md": "---\ntitle: Home\n---\nWelcome",
    "content/arms/_index.md": '+++\ntitle = "Robot arms"\nweight = 2\n+++\n',
    "content/arms/Big Grip.md": '{\n  "title": "Grip",\n  "weight": 2\n}\n\nText of grip',
    "content/arms/joints.md": "---\nweight: 1\nslug: the-joints\n---\nText",
    "content/arms/bundle/index.md": "---\nweight: 3\n---\nBundle",
    "content/arms/bundle/part.md": "A part of the bundle",
    "content/legs/_index.md": "---\nweight: 1\n---\n",
    "content/legs/walk.md": "---\nurl: /walking\n---\nText",
    "content/legs/draft.md": "---\ndraft: true\n---\nText",
    "content/legs/zero.md": "---\nweight: 0\n---\nLast",
    "README.md": "About",
}


def at(site: Discovery, name: str) -> str:
    return urls(site)[f"content/{name}"].removeprefix(SITE)


def test_pages_come_by_weight_and_drafts_and_parts_of_bundles_are_left_out(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert (site.site, site.title, site.base_url) == ("hugo", "Robots", SITE)
    assert names(site) == [
        "content/_index.md",
        "content/legs/_index.md",
        "content/legs/walk.md",
        "content/legs/zero.md",
        "content/arms/_index.md",
        "content/arms/joints.md",
        "content/arms/Big Grip.md",
        "content/arms/bundle/index.md",
    ]
    assert rules(site) == {
        "README.md": "not-a-lesson",
        "content/arms/bundle/part.md": "partial",
        "content/legs/draft.md": "draft",
    }
    grip = next(file for file in site.files if file.source_file.endswith("Grip.md"))
    assert (grip.title, grip.breadcrumb) == ("Grip", ("Robot arms",))
    assert site.warnings == ()


def test_addresses_are_those_of_hugo(tmp_path: Path) -> None:
    site = found(tmp_path, FILES)
    assert at(site, "_index.md") == ""
    assert at(site, "arms/_index.md") == "arms/"
    assert at(site, "arms/Big Grip.md") == "arms/big-grip/"
    assert at(site, "arms/joints.md") == "arms/the-joints/"
    assert at(site, "arms/bundle/index.md") == "arms/bundle/"
    assert at(site, "legs/walk.md") == "walking/"


@pytest.mark.parametrize(
    ("config", "walk", "grip"),
    [
        ("uglyURLs = true\n", "walking/", "arms/big-grip.html"),
        ("[uglyURLs]\nlegs = true\n", "walking/", "arms/big-grip/"),
        ('[permalinks]\narms = "/a/:slug/"\n', "walking/", "a/grip/"),
        ('[permalinks.page]\narms = "/:section/x-:contentbasename"\n', "walking/", "arms/x-big-grip/"),
        ("disablePathToLower = true\n", "walking/", "arms/Big-Grip/"),
        ("defaultContentLanguageInSubdir = true\n", "walking/", "en/arms/big-grip/"),
    ],
)
def test_the_configuration_changes_addresses(tmp_path: Path, config: str, walk: str, grip: str) -> None:
    site = found(tmp_path, FILES | {"hugo.toml": CONFIG + config})
    assert (at(site, "legs/walk.md"), at(site, "arms/Big Grip.md")) == (walk, grip)


def test_an_address_that_cannot_be_known_is_empty_with_a_warning(tmp_path: Path) -> None:
    dated = {"content/arms/joints.md": "---\ndate: 2024-05-03\ntitle: Joints\n---\nText"}
    config = CONFIG + '[permalinks]\narms = "/:year/:month/:title/"\n'
    site = found(tmp_path, FILES | dated | {"hugo.toml": config})
    assert at(site, "arms/joints.md") == "2024/05/joints/"
    assert urls(site)["content/arms/Big Grip.md"] == ""
    [warning] = site.warnings
    assert "The address of 2 lessons is unknown" in warning
    assert ":year" in warning


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hugo.yaml", "baseURL: https://h.example/book/\n"),
        ("hugo.json", '{"baseURL": "https://h.example/book/"}'),
        ("config/_default/hugo.toml", CONFIG),
        ("config/_default/config.toml", CONFIG),
        ("config.toml", CONFIG),
    ],
)
def test_every_place_of_the_configuration_is_known(tmp_path: Path, name: str, text: str) -> None:
    files = {key: value for key, value in FILES.items() if key != "hugo.toml"}
    site = found(tmp_path, files | {name: text, "config/_default/permalinks.toml": 'arms = "/p/:slug/"'})
    assert (site.site, at(site, "arms/Big Grip.md")) == ("hugo", "p/grip/")


def test_a_configuration_of_another_program_is_not_hugo(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"config.toml": 'base_url = "https://z.example"', "content/a.md": "a"}
    assert found(tmp_path, files).site == "folder"


@pytest.mark.parametrize("text", ["baseURL = ", "a = " + "[" * 5000, "\0"])
def test_a_broken_configuration_is_ignored_with_a_warning(tmp_path: Path, text: str) -> None:
    site = found(tmp_path, FILES | {"hugo.toml": text})
    assert (site.site, len(site.files)) == ("hugo", 8)
    assert "lessons have no address" in site.warnings[-1]


@pytest.mark.parametrize(
    ("mounts", "name", "address"),
    [
        ("[[module.mounts]]\nsource = 'content/en'\ntarget = 'content'", "content/en/arms/grip.md", "arms/grip/"),
        (
            "[[module.mounts]]\nsource = 'content/de'\ntarget = 'content'\nlang = 'de'\n"
            "[[module.mounts]]\nsource = 'content/en'\ntarget = 'content'\nlang = 'en'",
            "content/en/arms/grip.md",
            "arms/grip/",
        ),
        ("[[module.mounts]]\nsource = 'docs'\ntarget = 'content/guide'", "docs/arms/grip.md", "guide/arms/grip/"),
        ("[[module.mounts]]\nsource = 'none'\ntarget = 'content'", "content/arms/grip.md", "arms/grip/"),
    ],
)
def test_mounted_content_has_the_addresses_of_its_mount(tmp_path: Path, mounts: str, name: str, address: str) -> None:
    site = found(tmp_path, {"hugo.toml": f"{CONFIG}{mounts}\n", name: "Grip", "assets/a.css": ""})
    assert urls(site) == {name: f"{SITE}{address}"}
