"""A plain folder → its site."""

from bookwise.ingestion.discovery.facts import Facts
from bookwise.ingestion.discovery.names import folder_of, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import INDEXES, Site


def plain_site(profile: BookProfile) -> Site:
    """Every lesson below the folder, as people count."""
    return Site(kind="folder", docs=f"{profile.book.docs}/" if profile.book.docs else "", route=_route)


def _route(path: str, facts: Facts) -> str:
    """A page without extension, as most hosts serve it; a slug of its own comes first."""
    if facts.slug:
        return facts.slug if facts.slug.startswith("/") else folder_of(path) + facts.slug
    return folder_of(path) if stem(path).lower() in INDEXES else folder_of(path) + stem(path)
