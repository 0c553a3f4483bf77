"""A plain folder → its site."""

from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.names import folder_of, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import INDEXES, Site


def plain_site(profile: BookProfile) -> Site:
    """All lessons below the folder, in natural order."""
    return Site(kind="folder", docs=f"{profile.book.docs}/" if profile.book.docs else "", route=_route)


def _route(path: str, facts: Facts) -> str:
    """The slug from the front matter, else the path without extension, as most hosts serve it."""
    if facts.slug:
        return facts.slug if facts.slug.startswith("/") else folder_of(path) + facts.slug
    return folder_of(path) if stem(path).lower() in INDEXES else folder_of(path) + stem(path)
