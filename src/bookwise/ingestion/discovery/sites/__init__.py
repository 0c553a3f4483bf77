"""Files of a folder → the site generator it uses, with the order and addresses of its lessons."""

from collections.abc import Callable

from bookwise.ingestion.discovery.names import folder_of, natural_key
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites import docusaurus, fetched, hugo, jupyter_book, mdbook, mkdocs, quarto, sphinx
from bookwise.ingestion.discovery.sites.plain import plain_site
from bookwise.ingestion.discovery.sites.site import TEXTS, Site
from bookwise.ingestion.discovery.walk import Tree, format_of

__all__ = ["Site", "detect_site"]

SiteReader = Callable[[Tree, str, BookProfile], Site]

MAX_DEPTH = 3  #: how many folders below the root a site is searched for


def detect_site(tree: Tree, profile: BookProfile, mirrors: frozenset[str] = frozenset()) -> Site:
    """The site whose configuration is closest to the root and whose folder contains at least half of the lessons."""
    if tree.has(fetched.MANIFEST):
        return fetched.fetched_site(tree)
    lessons = [name for name in tree.raw_paths if format_of(name) in TEXTS and name not in mirrors]
    for folder in _folders(tree, profile.book.language):
        read_site = _site_reader(tree, folder, profile)
        if read_site and _holds_most(folder, lessons):
            return read_site(tree, folder, profile)
    return _site_from_lessons(tree, lessons, profile)


def _folders(tree: Tree, language: str) -> list[str]:
    folders = {folder for name in tree.raw_paths if (folder := folder_of(name)).count("/") <= MAX_DEPTH}
    return sorted({"", *folders}, key=lambda f: (f.count("/"), language not in f.split("/"), natural_key(f)))


def _holds_most(folder: str, lessons: list[str]) -> bool:
    return 2 * sum(name.startswith(folder) for name in lessons) >= len(lessons)


def _site_reader(tree: Tree, folder: str, profile: BookProfile) -> SiteReader | None:
    """The function that reads the site in this folder; None when there is no configuration."""

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
    if has(*quarto.CONFIGS):
        return quarto.quarto_site
    if hugo.is_hugo(tree, folder):
        return hugo.hugo_site
    if has(sphinx.CONFIG) and has("index.rst", "index.md"):
        return sphinx.sphinx_site
    return docusaurus.docusaurus_site if has(*docusaurus.SIDEBARS) else None


def _site_from_lessons(tree: Tree, lessons: list[str], profile: BookProfile) -> Site:
    """Without a configuration, the files decide: category files mean Docusaurus, mostly `.rst` means Sphinx."""
    categories = [name for name in tree.raw_paths if name.rpartition("/")[2] in docusaurus.CATEGORIES]
    visible = [name for name in categories if not any(p.startswith("_") for p in name.split("/")[:-1])]
    if visible:
        head, docs, _ = visible[0].partition("docs/")
        folder = head if docs and (not head or head.endswith("/")) else ""
        if _holds_most(folder, lessons):
            return docusaurus.docusaurus_site(tree, folder, profile)
    if 2 * sum(format_of(name) == "rst" for name in lessons) > len(lessons):
        indexes = [name for name in lessons if name.rpartition("/")[2] == "index.rst"]
        top = min(indexes, key=lambda name: (name.count("/"), name), default="")
        return sphinx.sphinx_site(tree, folder_of(top), profile)
    return plain_site(tree, profile)
