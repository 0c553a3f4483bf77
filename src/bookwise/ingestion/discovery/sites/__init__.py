"""Files of a folder → the kind of site it is, with all that this kind says about its lessons."""

from collections.abc import Callable

from bookwise.ingestion.discovery.names import folder_of, natural_key
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites import docusaurus, fetched, jupyter_book, mdbook, mkdocs, sphinx
from bookwise.ingestion.discovery.sites.plain import plain_site
from bookwise.ingestion.discovery.sites.site import TEXTS, Site
from bookwise.ingestion.discovery.walk import Tree, format_of

__all__ = ["Site", "recognise"]

Maker = Callable[[Tree, str, BookProfile], Site]

MAX_DEPTH = 3  #: how far below the root a site may begin


def detect_site(tree: Tree, profile: BookProfile, mirrors: frozenset[str] = frozenset()) -> Site:
    """The site whose configuration lies nearest to the root and that holds most of the lessons."""
    if tree.has(fetched.MANIFEST):
        return fetched.fetched_site(tree)
    lessons = [name for name in tree.raw_paths if format_of(name) in TEXTS and name not in mirrors]
    for folder in _folders(tree, profile.book.language):
        make = _maker(tree, folder, profile)
        if make and _holds_most(folder, lessons):
            return make(tree, folder, profile)
    return _by_its_lessons(tree, lessons, profile)


def _folders(tree: Tree, language: str) -> list[str]:
    folders = {folder for name in tree.raw_paths if (folder := folder_of(name)).count("/") <= MAX_DEPTH}
    return sorted({"", *folders}, key=lambda f: (f.count("/"), language not in f.split("/"), natural_key(f)))


def _holds_most(folder: str, lessons: list[str]) -> bool:
    return 2 * sum(name.startswith(folder) for name in lessons) >= len(lessons)


def _maker(tree: Tree, folder: str, profile: BookProfile) -> Maker | None:
    """Who can read the site that begins in this folder."""

    def has(*names: str) -> bool:
        return any(tree.has(folder + name) for name in names)

    if has(*docusaurus.CONFIGS):
        return docusaurus.docusaurus_site
    if has(*mkdocs.CONFIGS):
        return mkdocs.mkdocs_site
    if tree.has(mdbook.summary_folder(tree, folder, profile) + mdbook.SUMMARY):
        return mdbook.mdbook_site
    if has(*jupyter_book.CONTENTS, *jupyter_book.MYST):
        return jupyter_book.jupyter_book_site
    if has(sphinx.CONFIG) and has("index.rst", "index.md"):
        return sphinx.sphinx_site
    return docusaurus.docusaurus_site if has(*docusaurus.SIDEBARS) else None


def _by_its_lessons(tree: Tree, lessons: list[str], profile: BookProfile) -> Site:
    """Without a configuration, the lessons themselves tell: category files, or mostly `.rst`."""
    categories = [name for name in tree.raw_paths if name.rpartition("/")[2] in docusaurus.CATEGORIES]
    visible = [name for name in categories if not any(p.startswith("_") for p in name.split("/")[:-1])]
    if visible:
        head, docs, _ = visible[0].partition("docs/")
        folder = head if docs and (not head or head.endswith("/")) else ""
        if _holds_most(folder, lessons):
            return docusaurus.docusaurus_site(tree, folder, profile)
    if 2 * sum(format_of(name) == "rst" for name in lessons) > len(lessons):
        heads = [name for name in lessons if name.rpartition("/")[2] == "index.rst"]
        top = min(heads, key=lambda name: (name.count("/"), name), default="")
        return sphinx.sphinx_site(tree, folder_of(top), profile)
    return plain_site(profile)
