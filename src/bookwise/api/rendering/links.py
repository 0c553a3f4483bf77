"""A link in a lesson → the address of the page that it opens."""

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import dirname, normpath
from urllib.parse import unquote, urljoin, urlsplit


@dataclass(frozen=True, slots=True)
class LessonLinks:
    """Resolves the links of one lesson. A link to the file of another lesson opens that lesson's page."""

    source_file: str
    url: str  #: of the lesson's page, without anchor; empty when the book has no site
    urls: Mapping[str, str]  #: source file → URL of its page, of all lessons

    def __call__(self, address: str) -> str | None:
        """The absolute http(s) address, or None."""
        target = urlsplit(address)
        if target.scheme or target.netloc:
            return address if target.scheme in ("http", "https") else None
        anchor = f"#{target.fragment}" if target.fragment else ""
        if not target.path:
            return self.url + anchor if self.url and anchor else None
        file = normpath(f"{dirname(self.source_file)}/{unquote(target.path)}".lstrip("/"))
        if page := self.urls.get(file):
            return page + anchor
        if file.endswith((".md", ".mdx")) or not self.url:
            return None
        return urljoin(self.url, address)
