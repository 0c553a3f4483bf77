"""A Quarto project → its site."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from bookwise.domain.errors import BadSource
from bookwise.ingestion.discovery.globs import matches
from bookwise.ingestion.discovery.names import natural_key, one_line
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Listed, Site, base_address, html_route, missing_files, resolve_files
from bookwise.ingestion.discovery.sites.yaml_text import inner_mapping, plain_values
from bookwise.ingestion.discovery.walk import Tree

CONFIGS = ("_quarto.yml", "_quarto.yaml")
ENDINGS = (".qmd", ".md", ".ipynb")
MAX_ENTRIES = 100_000  #: YAML aliases can make a short list endless
MAX_DEPTH = 30


def quarto_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """The chapters of a book in their order, and nothing else; the pages of a website, those of its sidebar first."""
    config = next(folder + name for name in CONFIGS if tree.has(folder + name))
    values, warnings = _values(tree, config)
    book, website = inner_mapping(values, "book"), inner_mapping(values, "website")
    docs = f"{profile.book.docs}/" if profile.book.docs else folder
    is_book = bool(book.get("chapters"))
    contents = _book_contents(book) if is_book else _sidebar_contents(website)
    chapters = _chapters(contents, (), "", iter(range(MAX_ENTRIES)))
    listed, missing = resolve_files(chapters, partial(_files, tree, docs))
    return Site(
        kind="quarto",
        docs=docs,
        title=one_line((book or website).get("title")),
        base_url=base_address(one_line((book or website).get("site-url"), 2000)),
        route=html_route,
        listed=tuple(listed),
        unlisted_rule="not-in-chapters" if is_book and listed else "",
        hides_underscored=True,
        excluded=("**/README.md", "**/README.qmd", *_not_rendered(inner_mapping(values, "project"))),
        warnings=(*warnings, *missing_files(config, missing)),
    )


def _values(tree: Tree, config: str) -> tuple[dict[str, Any], list[str]]:
    try:
        values = plain_values(tree.text(config))
    except BadSource as error:
        return {}, [f"{config} was ignored: {error.message}."]
    return (values if isinstance(values, dict) else {}), []


def _book_contents(book: dict[str, Any]) -> list[Any]:
    chapters, appendices = book.get("chapters"), book.get("appendices")
    extra = [{"part": "Appendices", "chapters": appendices}] if isinstance(appendices, list) else []
    return [*(chapters if isinstance(chapters, list) else []), *extra]


def _sidebar_contents(website: dict[str, Any]) -> list[Any]:
    """The contents of the sidebar, or of several sidebars one after the other."""
    sidebar = website.get("sidebar")
    bars = sidebar if isinstance(sidebar, list) else [sidebar]
    contents = [bar["contents"] for bar in bars if isinstance(bar, dict) and isinstance(bar.get("contents"), list)]
    return [entry for bar in contents for entry in bar]


def _not_rendered(project: dict[str, Any]) -> tuple[str, ...]:
    """The globs that `render` excludes: `!drafts/`."""
    render = project.get("render")
    patterns = [p for p in render if isinstance(p, str)] if isinstance(render, list) else []
    return tuple(pattern[1:].strip() for pattern in patterns if pattern.startswith("!"))


def _files(tree: Tree, docs: str, entry: str) -> list[str]:
    """The files of an entry, which may be a glob."""
    path = docs + entry.removeprefix("./").removeprefix("/")
    if "*" in path:
        names = (name for name in tree.raw_paths if name.endswith(ENDINGS) and matches(path, name))
        return sorted(names, key=natural_key)
    return [path] if tree.has(path) else []


def _chapters(contents: list[Any], crumbs: tuple[str, ...], group: str, budget: Iterator[int]) -> Iterator[Listed]:
    """The files of a list of chapters, parts and sections. A part or a top-level chapter is a group."""
    if len(crumbs) > MAX_DEPTH:
        return
    for number, entry in enumerate(contents):
        if next(budget, None) is None:
            return
        item = entry if isinstance(entry, dict) else {"file": entry}
        heading = one_line(item.get("part") or item.get("section"))
        file = next((text for key in ("file", "href", "auto") if (text := one_line(item.get(key)))), "")
        inner = next((item[key] for key in ("chapters", "contents") if isinstance(item.get(key), list)), None)
        if inner is not None and heading.endswith(ENDINGS):
            file, heading = heading, ""
        own_group = group or f"{number}:{heading or file}"
        if file.endswith(ENDINGS):
            title = one_line(item.get("text"))
            is_leader = inner is not None or not group
            yield Listed(name=file, title=title, breadcrumb=crumbs, group=own_group, leads_group=is_leader)
        if inner is not None:
            yield from _chapters(inner, (*crumbs, heading) if heading else crumbs, own_group, budget)
