"""A Jupyter Book or MyST project → its site."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from bookwise.domain.errors import BadSource
from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.globs import matches
from bookwise.ingestion.discovery.names import natural_key, one_line, slug, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Listed, Site, base_address, html_route, missing_files, resolve_files
from bookwise.ingestion.discovery.sites.yaml_text import inner_mapping, mapping, plain_values
from bookwise.ingestion.discovery.walk import Tree

CONTENTS = ("_toc.yml", "_toc.yaml")
MYST = ("myst.yml", "myst.yaml")
ENDINGS = ("", ".md", ".ipynb", ".rst", ".markdown")
MAX_ENTRIES = 100_000
MAX_DEPTH = 30

_BRANCHES = ("parts", "chapters", "subtrees", "entries", "sections", "children")


def jupyter_book_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """The lessons of the table of contents in its order; all lessons when there is no table."""
    config = next(folder + name for name in (*CONTENTS, *MYST) if tree.has(folder + name))
    warnings = []
    try:
        parsed = plain_values(tree.text(config))
    except BadSource as error:
        parsed = None
        warnings.append(f"{config} was ignored: {error.message}.")
    is_myst = config.rpartition("/")[2] in MYST
    project = inner_mapping(parsed, "project") if is_myst else mapping(tree.text(folder + "_config.yml"))
    contents = project.get("toc") if is_myst else parsed
    docs = f"{profile.book.docs}/" if profile.book.docs else folder
    entries = _entries(contents, iter(range(MAX_ENTRIES)))
    listed, missing = resolve_files(entries, partial(_files, tree, docs))
    warnings.extend(missing_files(config, missing))
    return Site(
        kind="jupyter-book",
        docs=docs,
        title=one_line(project.get("title")),
        base_url=base_address(one_line(inner_mapping(project, "html").get("baseurl"))),
        route=_myst_route if is_myst else html_route,
        listed=tuple(listed),
        unlisted_rule="not-in-toc" if listed else "",
        warnings=tuple(warnings),
    )


def _files(tree: Tree, docs: str, file: str) -> list[str]:
    """The files of an entry, which may be a name without extension or a glob."""
    if "*" in file:
        return sorted((name for name in tree.raw_paths if matches(docs + file, name)), key=natural_key)
    return [docs + file + ending for ending in ENDINGS if tree.has(docs + file + ending)][:1]


def _entries(contents: Any, budget: Iterator[int]) -> Iterator[Listed]:
    """The entries of a table of contents in any of its formats. Parts, or else chapters, are the groups."""
    if isinstance(contents, list):
        yield from _branch(contents, (), "", budget)
    elif isinstance(contents, dict):
        if file := one_line(contents.get("root")):
            yield Listed(name=file, title="", breadcrumb=(), group="", leads_group=False)
        for branch in _branches(contents):
            yield from _branch(branch, (), "", budget)


def _branch(items: list[Any], crumbs: tuple[str, ...], group: str, budget: Iterator[int]) -> Iterator[Listed]:
    if len(crumbs) > MAX_DEPTH:
        return
    for number, item in enumerate(items):
        if next(budget, None) is None:
            return
        if not isinstance(item, dict):
            continue
        title = one_line(item.get("caption")) or one_line(item.get("title"))
        file = next((one_line(item[key]) for key in ("file", "glob", "pattern") if key in item), "")
        item_group = group or f"{number}:{title or file}"
        if file:
            yield Listed(
                name=file, title=title, breadcrumb=_without_blanks(crumbs), group=item_group, leads_group=not group
            )
        for branch in _branches(item):
            yield from _branch(branch, (*crumbs, title), item_group, budget)


def _branches(item: dict[str, Any]) -> list[list[Any]]:
    return [item[key] for key in _BRANCHES if isinstance(item.get(key), list)]


def _without_blanks(crumbs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(crumb for crumb in crumbs if crumb)


def _myst_route(path: str, facts: Facts) -> str:
    """MyST publishes every lesson at the top level, under the slug of its file name."""
    return "" if stem(path).lower() == "index" else slug(stem(path))
