"""What MkDocs calls while it builds the site: files of the repository that pages link to become part of it.

On GitHub, a page links to `../SECURITY.md` or to a file in `examples/`. MkDocs knows only docs/, so these files are
added under project/, and the links are changed to match.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS, PROJECT = "docs/", "project/"
LINK = re.compile(
    r"(?<=\]\()([^)#:\s]+)(?=[)#])"
)  #: the path of a link, without its anchor; web addresses have a colon


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the linked files, and those that they link to in turn."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        for target in LINK.findall((ROOT / repository_path(page)).read_text(encoding="utf-8")):
            path = linked_path(page, target)
            if not path.startswith(DOCS) and (ROOT / path).is_file() and not files.get_file_from_path(site_path(path)):
                files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
                if path.endswith(".md"):
                    waiting.append(site_path(path))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text with the links as they are in the site."""

    def in_site(link: re.Match[str]) -> str:
        target = site_path(linked_path(page.file.src_uri, link[1]))
        return posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")

    return LINK.sub(in_site, markdown)


def site_path(path: str) -> str:
    """Where a file of the repository is in the site. A template is shown as text, so that no browser runs it."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return f"{PROJECT}{path}.txt" if path.endswith(".html") else PROJECT + path


def repository_path(page: str) -> str:
    """Where a page of the site is in the repository."""
    return page.removeprefix(PROJECT) if page.startswith(PROJECT) else DOCS + page


def linked_path(page: str, target: str) -> str:
    """Where the target of a link is in the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), target))
