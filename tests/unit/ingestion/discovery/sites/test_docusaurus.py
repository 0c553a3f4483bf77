"""A Docusaurus project is read as Docusaurus publishes it."""

from pathlib import Path

import pytest

from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.sites.docusaurus import docusaurus_route
from tests.support.folders import BASE, found, names, rules, urls

CONFIG = (
    "module.exports = {title: 'Robots', url: 'https://r.example', baseUrl: '/book/', "
    "presets: [['classic', {docs: {routeBasePath: 'learn'}}]]};"
)


def test_title_and_address_come_from_the_configuration(tmp_path: Path) -> None:
    site = found(tmp_path, {"docusaurus.config.js": CONFIG, "docs/a.md": "a"})
    assert (site.site, site.title, site.book_id) == ("docusaurus", "Robots", "robots")
    assert site.base_url == "https://r.example/book/learn/"
    assert urls(site) == {"docs/a.md": "https://r.example/book/learn/a"}


@pytest.mark.parametrize(
    ("config", "base_url"),
    [
        (
            "export default {title: 'R', url: 'https://r.example', baseUrl: '/'}",
            "https://r.example/docs/",
        ),
        (
            "const c: Config = {title: 'R', url: `https://r.example`, baseUrl: \"/x/\" as const};",
            "https://r.example/x/docs/",
        ),
        (
            "export default async function make() { const o = {url: 'https://no.example'}; "
            "return {title: 'R', url: 'https://r.example', baseUrl: '/', "
            "presets: [['classic', {docs: {routeBasePath: '/'}}]]} }",
            "https://r.example/",
        ),
        ("module.exports = {title: 'R', url: process.env.URL || 'https://no.example', baseUrl: '/'}", ""),
        ("module.exports = {title: 'R', url: `https://${host}`, baseUrl: '/'}", ""),
        ("module.exports = {title: 'R', url: dev ? 'http://no.example' : 'https://x', baseUrl: '/'}", ""),
        ("module.exports = {title: 'R', url: 'javascript:alert(1)', baseUrl: '/'}", ""),
        ("", ""),
        ("{[{[" * 50_000, ""),
        ("/*" * 100_000, ""),
    ],
)
def test_only_plain_text_in_the_configuration_counts(tmp_path: Path, config: str, base_url: str) -> None:
    site = found(tmp_path, {"docusaurus.config.ts": config, "docs/a.md": "a"})
    assert site.base_url == base_url
    assert bool(site.warnings) == (not base_url)


def test_an_address_in_the_profile_comes_first(tmp_path: Path) -> None:
    profile = f'[book]\nbase_url = "{BASE}"'
    site = found(tmp_path, {"bookwise.toml": profile, "docusaurus.config.js": "x", "docs/a.md": "a"})
    assert urls(site) == {"docs/a.md": BASE + "a"}
    assert not site.warnings


@pytest.mark.parametrize(
    ("path", "facts", "address"),
    [
        ("01-Basics/02-Setup.md", Facts(), "Basics/Setup"),
        ("basics/index.md", Facts(), "basics/"),
        ("basics/README.mdx", Facts(), "basics/"),
        ("basics/Basics.md", Facts(), "basics/"),
        ("index.md", Facts(), ""),
        ("a/b.md", Facts(id="c"), "a/c"),
        ("01-a/b.md", Facts(slug="c"), "a/c"),
        ("01-a/b.md", Facts(slug="./c/"), "a/c/"),
        ("a/b/c.md", Facts(slug="../d"), "a/d"),
        ("a/b.md", Facts(slug="../../../d"), "d"),
        ("a/b.md", Facts(slug="/c/d"), "/c/d"),
        ("a/index.md", Facts(slug="/"), "/"),
        ("2021-08-21-x.md", Facts(), "2021-08-21-x"),
    ],
)
def test_addresses_follow_its_rules(path: str, facts: Facts, address: str) -> None:
    assert docusaurus_route("")(path, facts) == address


def test_trailing_slashes_are_as_configured(tmp_path: Path) -> None:
    assert docusaurus_route("true")("a/b.md", Facts()) == "a/b/"
    assert docusaurus_route("false")("a/index.md", Facts()) == "a"
    config = CONFIG.replace("title", "trailingSlash: true, title")
    site = found(tmp_path, {"docusaurus.config.js": config, "docs/a.md": "a"})
    assert urls(site) == {"docs/a.md": "https://r.example/book/learn/a/"}


def test_reading_order_is_position_then_number_then_name(tmp_path: Path) -> None:
    site = found(
        tmp_path,
        {
            "docusaurus.config.js": CONFIG,
            "docs/zebra/_category_.json": '{"position": 1, "label": "First things"}',
            "docs/zebra/a.md": "1",
            "docs/zebra/index.md": "2",
            "docs/10-ten.md": "3",
            "docs/2-two.md": "4",
            "docs/apple.md": "5",
            "docs/late.md": "---\nsidebar_position: 1.5\n---\n",
            "docs/broken/_category_.yml": "position: [",
            "docs/broken/x.md": "6",
        },
    )
    assert names(site) == [
        "docs/zebra/index.md",
        "docs/zebra/a.md",
        "docs/late.md",
        "docs/2-two.md",
        "docs/10-ten.md",
        "docs/apple.md",
        "docs/broken/x.md",
    ]
    assert site.files[0].breadcrumb == ("First things",)


def test_a_hand_written_sidebar_gives_the_order(tmp_path: Path) -> None:
    sidebar = "export default {s: ['z', {type: 'category', label: 'A', items: ['basics/b', \"basics/a\"]}]};"
    files: dict[str, str | bytes] = {
        "sidebars.ts": sidebar,
        "docs/01-basics/a.md": "1",
        "docs/01-basics/02-b.md": "2",
        "docs/c.md": "3",
        "docs/z.md": "4",
    }
    expected = ["docs/z.md", "docs/01-basics/02-b.md", "docs/01-basics/a.md", "docs/c.md"]
    assert names(found(tmp_path, files)) == expected
    by_folder = files | {"sidebars.ts": "export default {s: [{type: 'autogenerated', dirName: 'z'}]}"}
    assert names(found(tmp_path, by_folder))[0] == "docs/01-basics/02-b.md"


def test_only_the_docs_are_the_book(tmp_path: Path) -> None:
    site = found(
        tmp_path,
        {
            "docusaurus.config.js": CONFIG,
            "docs/a.md": "a",
            "docs/i18n/intro.md": "a chapter about translation",
            "docs/build/intro.md": "a chapter about building",
            "docs/_b.md": "b",
            "docs/_c/c.md": "c",
            "docs/d.rst": "d",
            "docs/draft.md": "---\ndraft: true\n---\n",
            "docs/hidden.md": "---\nunlisted: true\n---\n",
            "versioned_docs/version-1/a.md": "old",
            "community_versioned_docs/version-1/a.md": "old",
            "i18n/fr/docusaurus-plugin-content-docs/current/a.md": "fr",
            "blog/x.md": "x",
            "src/pages/x.mdx": "x",
            "README.md": "x",
            "build/x.md": "x",
            "node_modules/x/docs/a.md": "x",
        },
    )
    assert names(site) == ["docs/a.md", "docs/build/intro.md", "docs/i18n/intro.md"]
    assert rules(site) == {
        "docs/_b.md": "partial",
        "docs/_c/c.md": "partial",
        "docs/d.rst": "not-a-lesson",
        "docs/draft.md": "draft",
        "docs/hidden.md": "unlisted",
        "versioned_docs/version-1/a.md": "older-version",
        "community_versioned_docs/version-1/a.md": "older-version",
        "i18n/fr/docusaurus-plugin-content-docs/current/a.md": "i18n-mirror",
        "blog/x.md": "not-a-lesson",
        "src/pages/x.mdx": "not-a-lesson",
        "README.md": "not-a-lesson",
        "build/": "not-a-lesson",
        "node_modules/": "not-a-lesson",
    }


def test_category_files_alone_are_enough(tmp_path: Path) -> None:
    site = found(tmp_path, {"a/_category_.json": "{}", "a/_x.md": "x", "a/b.md": "b"})
    assert (site.site, names(site)) == ("docusaurus", ["a/b.md"])
    nested = found(tmp_path / "n", {"web/docs/a/_category_.json": "{}", "web/docs/a/b.md": "b"})
    assert nested.files[0].breadcrumb == ("A",)


def test_the_docs_may_lie_elsewhere(tmp_path: Path) -> None:
    config = CONFIG.replace("routeBasePath", "path: './content', routeBasePath")
    site = found(tmp_path, {"web/docusaurus.config.js": config, "web/content/a.md": "a"})
    assert urls(site) == {"web/content/a.md": "https://r.example/book/learn/a"}
    named = found(
        tmp_path / "n",
        {
            "bookwise.toml": '[book]\ndocs = "l"',
            "docusaurus.config.js": "",
            "l/a.md": "",
            "docs/b.md": "",
        },
    )
    assert names(named) == ["l/a.md"]
