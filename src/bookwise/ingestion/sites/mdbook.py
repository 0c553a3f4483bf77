"""An mdBook project → its site."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bookwise.ingestion.facts import Facts
from bookwise.ingestion.names import folder_of, one_line, stem
from bookwise.ingestion.profile import BookProfile
from bookwise.ingestion.sites.site import Listed, Site, html_route, inner_folder
from bookwise.ingestion.walk import Tree

SUMMARY = "SUMMARY.md"


@dataclass(slots=True)
class _Open:
    """An open list item: the title it gives to what stands below it."""

    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    href: str
    title: str
    breadcrumb: tuple[str, ...]
    chapter: int  #: which top-level item it belongs to; 0 outside the list
    is_top: bool


def mdbook_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """Only what the summary lists is in the book; a chapter without a file is a draft."""
    facts, warnings = _book_facts(tree, folder)
    docs = summary_folder(tree, folder, profile)
    listed, missing = [], []
    for link in _links(tree.text(docs + SUMMARY)):
        name = docs + link.href
        if not tree.has(name):
            missing.append(f"{docs}{SUMMARY} names {link.href}, which is not there.")
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
        warnings=(*warnings, *missing),
    )


def summary_folder(tree: Tree, folder: str, profile: BookProfile) -> str:
    """The folder that holds the summary: as `book.toml` says, `src`, or the folder itself."""
    source = one_line(_book_facts(tree, folder)[0].get("src")) or "src"
    named = [f"{profile.book.docs}/"] if profile.book.docs else []
    for docs in (*named, inner_folder(folder, source), folder):
        if tree.has(docs + SUMMARY):
            return docs
    return folder


def _book_facts(tree: Tree, folder: str) -> tuple[dict[str, Any], list[str]]:
    name = folder + "book.toml"
    try:
        facts = tomllib.loads(tree.text(name)).get("book")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, [f"{name} was passed over: {error}."]
    return (facts if isinstance(facts, dict) else {}), []


def _links(summary: str) -> Iterator[_Link]:
    """The links of a summary in order, with the titles above each of them."""
    part, headings, chapter = "", 0, 0
    items: list[_Open] = []
    parsed = MarkdownIt("commonmark", {"maxNesting": 200}).parse(summary)
    for before, token in zip([None, *parsed], parsed, strict=False):
        if token.type == "list_item_open":
            chapter += not items
            items.append(_Open())
        elif token.type == "list_item_close":
            items.pop()
        elif token.type == "inline" and before is not None and before.type == "heading_open":
            # The first heading is the name of the summary, later ones are parts of the book.
            headings += 1
            part = one_line(token.content) if headings > 1 else ""
        elif token.type == "inline":
            yield from _links_in(token, part, items, chapter)


def _links_in(token: Token, part: str, items: list[_Open], chapter: int) -> Iterator[_Link]:
    crumbs = tuple(crumb for crumb in (part, *(item.title for item in items[:-1])) if crumb)
    for href, title in _targets(token.children or []):
        if items:
            items[-1].title = title
        if href and "://" not in href:
            is_top = len(items) == 1
            number = chapter if items else 0
            yield _Link(href=href, title=title, breadcrumb=crumbs, chapter=number, is_top=is_top)


def _targets(inline: Sequence[Token]) -> Iterator[tuple[str, str]]:
    href = None
    words: list[str] = []
    for token in inline:
        if token.type == "link_open":
            href, words = str(token.attrGet("href") or ""), []
        elif token.type == "link_close" and href is not None:
            yield unquote(href).removeprefix("./").partition("#")[0], one_line("".join(words))
            href = None
        elif token.type == "softbreak":
            words.append(" ")
        else:
            words.append(token.content)


def _route(path: str, facts: Facts) -> str:
    if stem(path).lower() == "readme":
        return f"{folder_of(path)}index.html"
    return html_route(path, facts)
