"""A plain folder → its site."""

from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.names import folder_of, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import INDEXES, TEXTS, Site
from bookwise.ingestion.discovery.walk import Tree, format_of


def plain_site(tree: Tree, profile: BookProfile) -> Site:
    """All lessons below the folder, in natural order. A folder of HTML pages is read as the export of a generator."""
    docs = f"{profile.book.docs}/" if profile.book.docs else ""
    names = [name for name in tree.raw_paths if name.startswith(docs)]
    if _is_export(names):
        return Site(kind="folder", docs=docs, route=_page_route, formats=frozenset({"html"}))
    partials = frozenset(name for name in names if _is_partial(name))
    return Site(kind="folder", docs=docs, route=_route, partials=partials)


def _is_export(names: list[str]) -> bool:
    """Whether the folder has HTML pages and, apart from a README at the top, no other lessons."""
    formats = {format_of(name) for name in names if name.lower() != "readme.md"}
    return "html" in formats and not formats & TEXTS


def _is_partial(name: str) -> bool:
    """`_note.mdx` is imported by other pages; `_index.md` is the page of its folder."""
    return name.rpartition("/")[2].startswith("_") and stem(name) != "_index"


def _page_route(path: str, facts: Facts) -> str:
    return folder_of(path) if stem(path).lower() == "index" else path


def _route(path: str, facts: Facts) -> str:
    """The slug from the front matter, else the path without extension, as most hosts serve it."""
    if facts.slug:
        return facts.slug if facts.slug.startswith("/") else folder_of(path) + facts.slug
    return folder_of(path) if stem(path).lower() in INDEXES else folder_of(path) + stem(path)
