"""A folder of fetched HTML pages with a manifest → its site."""

import json
from typing import Any
from urllib.parse import unquote, urlsplit

from bookwise.domain.errors import BadSource
from bookwise.ingestion.discovery.names import one_line
from bookwise.ingestion.discovery.profile import is_web_address
from bookwise.ingestion.discovery.sites.site import Listed, Site, base_address, html_route
from bookwise.ingestion.discovery.walk import Tree

MANIFEST = "bookwise-site.json"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024


def fetched_site(tree: Tree) -> Site:
    """The lessons of the manifest, each with the address it was fetched from."""
    manifest = _manifest(tree)
    base_url = base_address(one_line(manifest.get("base_url"), 2000))
    entries = manifest.get("pages")
    if not isinstance(entries, list):
        raise _damaged("it has no list of pages")
    listed, warnings = [], []
    for entry in entries:
        page = _listed(entry, base_url)
        if page is None or not tree.has(page.name):
            warnings.append(f"{MANIFEST}: an entry was ignored: {json.dumps(entry)[:200]}")
        else:
            listed.append(page)
    return Site(
        kind="site",
        title=one_line(manifest.get("title")) or (urlsplit(base_url).hostname or ""),
        base_url=base_url,
        route=html_route,
        formats=frozenset({"html"}),
        listed=tuple(listed),
        unlisted_rule="not-in-manifest",
        warnings=tuple(warnings),
    )


def _manifest(tree: Tree) -> dict[str, Any]:
    try:
        manifest = json.loads(tree.text(MANIFEST, MAX_MANIFEST_BYTES))
    except (ValueError, RecursionError) as error:
        raise _damaged("it is not valid JSON") from error
    if not isinstance(manifest, dict):
        raise _damaged("it is not an object")
    return manifest


def _damaged(problem: str) -> BadSource:
    return BadSource(f"{MANIFEST} cannot be used: {problem}.", advice="Fetch the site again.")


def _listed(entry: object, base_url: str) -> Listed | None:
    if not isinstance(entry, dict):
        return None
    name, url = entry.get("file"), entry.get("url")
    if not isinstance(name, str) or not isinstance(url, str) or not is_web_address(url):
        return None
    address = url.partition("#")[0]
    return Listed(
        name=name,
        title=one_line(entry.get("title")),
        url=address,
        path=_path_of(address, base_url),
        breadcrumb=(),
    )


def _path_of(url: str, base_url: str) -> str:
    """The part of an address below the address of the site; module, chapter and lesson are read from it."""
    path = unquote(url.removeprefix(base_url) if base_url else urlsplit(url).path).strip("/")
    return path if path.endswith(".html") else f"{path or 'index'}.html"
