"""An mdBook project → its site."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.names import folder_of, one_line, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Listed, Site, html_route, inner_folder, missing_files
from bookwise.ingestion.discovery.walk import Tree

SUMMARY = "SUMMARY.md"

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_ITEM = re.compile(r"(\s*)(?:[-*+]|[0-9]{1,9}[.)])\s+(?=\[)")
_LINK = re.compile(r"\s*\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]\(\s*(?:<([^<>]*)>|([^\s()]*(?:\([^()]*\)[^\s()]*)*))")
_MARKUP = re.compile(r"\\(?=[^\w\s])|[`*]")


@dataclass(frozen=True, slots=True)
class _Item:
    """A list item above the current line: its title is part of the breadcrumb."""

    indent: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    href: str
    title: str
    breadcrumb: tuple[str, ...]
    chapter: int  #: number of its top-level item; 0 outside the list
    is_top: bool


def mdbook_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """The lessons that the summary lists. A chapter without a file is a draft."""
    facts, warnings = _book_facts(tree, folder)
    docs = summary_folder(tree, folder, profile)
    listed, missing = [], []
    for link in _links(tree.text(docs + SUMMARY)):
        name = docs + link.href
        if not tree.has(name):
            missing.append(link.href)
            continue
        group = f"{link.chapter}" if link.chapter else ""
        listed.append(
            Listed(
                name=name,
                title=link.title,
                breadcrumb=link.breadcrumb,
                group=group,
                leads_group=bool(group) and link.is_top,
            )
        )
    return Site(
        kind="mdbook",
        docs=docs,
        title=one_line(facts.get("title")),
        route=_route,
        listed=tuple(listed),
        unlisted_rule="not-in-summary",
        own_files=frozenset({docs + SUMMARY}),
        warnings=(*warnings, *missing_files(docs + SUMMARY, missing)),
    )


def summary_folder(tree: Tree, folder: str, profile: BookProfile) -> str:
    """The folder of the summary: the one in `book.toml`, `src`, or the folder itself."""
    source = one_line(_book_facts(tree, folder)[0].get("src")) or "src"
    from_profile = [f"{profile.book.docs}/"] if profile.book.docs else []
    for docs in (*from_profile, inner_folder(folder, source), folder):
        if tree.has(docs + SUMMARY):
            return docs
    return folder


def _book_facts(tree: Tree, folder: str) -> tuple[dict[str, Any], list[str]]:
    name = folder + "book.toml"
    try:
        facts = tomllib.loads(tree.text(name)).get("book")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, [f"{name} was ignored: {error}."]
    return (facts if isinstance(facts, dict) else {}), []


def _links(summary: str) -> Iterator[_Link]:
    """The links of a summary in order, each with the titles above it."""
    part, headings, chapter = "", 0, 0
    items: list[_Item] = []
    for line in _COMMENT.sub("", summary).splitlines():
        if heading := _HEADING.match(line):
            # The first heading is the title of the summary, later ones are parts of the book.
            headings += 1
            part, items = one_line(heading[1]) if headings > 1 else "", []
        item = _ITEM.match(line)
        link = _LINK.match(line, item.end() if item else 0)
        if not link:
            continue
        indent = len(item[1].expandtabs(4)) if item else -1
        items = [above for above in items if above.indent < indent]
        chapter += bool(item and not items)
        crumbs = tuple(crumb for crumb in (part, *(above.title for above in items)) if crumb)
        title = one_line(_MARKUP.sub("", link[1]))
        is_top = item is not None and not items
        if item:
            items.append(_Item(indent, title))
        href = unquote(link[2] or link[3] or "").removeprefix("./").partition("#")[0]
        if href and "://" not in href:
            number = chapter if item else 0
            yield _Link(href=href, title=title, breadcrumb=crumbs, chapter=number, is_top=is_top)


def _route(path: str, facts: Facts) -> str:
    if stem(path).lower() == "readme":
        return f"{folder_of(path)}index.html"
    return html_route(path, facts)
