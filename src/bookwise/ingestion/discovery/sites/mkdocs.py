"""A MkDocs project → its site."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bookwise.domain.errors import BadSource
from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.names import folder_of, one_line, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import (
    INDEXES,
    Listed,
    Route,
    Site,
    base_address,
    html_route,
    inner_folder,
    missing_files,
)
from bookwise.ingestion.discovery.sites.yaml_text import plain_values
from bookwise.ingestion.discovery.walk import Tree

CONFIGS = ("mkdocs.yml", "mkdocs.yaml")
MAX_ENTRIES = 100_000  #: YAML aliases can make a short navigation endless
MAX_DEPTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _NavEntry:
    path: str
    title: str
    breadcrumb: tuple[str, ...]
    group: str


def mkdocs_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """The lessons of the navigation in its order, then all other lessons."""
    config = next(folder + name for name in CONFIGS if tree.has(folder + name))
    warnings = []
    try:
        facts = plain_values(tree.text(config))
    except BadSource as error:
        facts = {}
        warnings.append(f"{config} was ignored: {error.message}.")
    facts = facts if isinstance(facts, dict) else {}
    docs = _docs_folder(folder, facts, profile)
    listed, missing = _listed(tree, docs, facts.get("nav"))
    warnings.extend(missing_files(config, missing))
    return Site(
        kind="mkdocs",
        docs=docs,
        title=one_line(facts.get("site_name")),
        base_url=base_address(one_line(facts.get("site_url"))),
        route=_route(as_folders=facts.get("use_directory_urls") is not False),
        listed=tuple(listed),
        excluded=_excluded(facts.get("exclude_docs")),
        warnings=tuple(warnings),
    )


def _docs_folder(folder: str, facts: dict[str, Any], profile: BookProfile) -> str:
    if profile.book.docs is not None:
        return f"{profile.book.docs}/" if profile.book.docs else ""
    return inner_folder(folder, one_line(facts.get("docs_dir")) or "docs")


def _listed(tree: Tree, docs: str, nav: Any) -> tuple[list[Listed], list[str]]:
    listed, missing = [], []
    for entry in _entries(nav, (), "", iter(range(MAX_ENTRIES))):
        name = docs + entry.path
        if tree.has(name):
            crumbs = entry.breadcrumb or None
            listed.append(Listed(name=name, title=entry.title, breadcrumb=crumbs, group=entry.group))
        else:
            missing.append(entry.path)
    return listed, missing


def _entries(nav: Any, crumbs: tuple[str, ...], group: str, budget: Iterator[int]) -> Iterator[_NavEntry]:
    """The entries of `[path, {title: path}, {title: [...]}]`. Web addresses and other values are ignored."""
    if not isinstance(nav, list) or len(crumbs) > MAX_DEPTH:
        return
    for number, item in enumerate(nav):
        pairs = item.items() if isinstance(item, dict) else [("", item)]
        for title, value in pairs:
            if next(budget, None) is None:
                return
            label = one_line(title)
            if isinstance(value, str) and "://" not in value:
                path = value.removeprefix("./")
                if path.rpartition(".")[2].lower() in ("md", "markdown", "ipynb", "mdx", "rst"):
                    breadcrumb = tuple(crumb for crumb in crumbs if crumb)
                    yield _NavEntry(path=path, title=label, breadcrumb=breadcrumb, group=group)
            elif isinstance(value, list):
                yield from _entries(value, (*crumbs, label), group or f"{number}:{label}", budget)


def _excluded(patterns: object) -> tuple[str, ...]:
    """`exclude_docs` as globs. By default, MkDocs excludes `/templates/`."""
    lines = patterns.splitlines() if isinstance(patterns, str) else ["/templates/"]
    globs = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("#", "!"))]
    return tuple(line if "/" in line.rstrip("/") else f"**/{line}" for line in globs)


def _route(*, as_folders: bool) -> Route:
    def route(path: str, facts: Facts) -> str:
        if stem(path).lower() in INDEXES:
            return folder_of(path) if as_folders else f"{folder_of(path)}index.html"
        return f"{folder_of(path)}{stem(path)}/" if as_folders else html_route(path, facts)

    return route
