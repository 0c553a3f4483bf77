"""The address of a site into the question which other addresses belong to it."""

from dataclasses import dataclass

import httpx2

from bookwise.adapters.web.addresses import host_of, site_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One host and port, and on it the pages below one folder."""

    base: httpx2.URL  #: ends with a slash

    def foreign(self, url: httpx2.URL) -> str:
        """Why an address is not on this site; empty when it is."""
        own = _origin(self.base)
        # A site given by its http address may answer by https, the other way round it may not.
        own_by_https = ("https", own[1], 443) if own[0] == "http" and own[2] == 80 else own
        return "" if _origin(url) in (own, own_by_https) else "on another host"

    def outside(self, url: httpx2.URL) -> str:
        """Why an address is not a page of this book; empty when it is."""
        within = url.path.startswith(self.base.path) or url.path + "/" == self.base.path
        return self.foreign(url) or ("" if within else f"outside {self.base.path}")

    def at_root(self, name: str) -> httpx2.URL:
        return self.base.copy_with(raw_path=f"/{name}".encode())

    def at_base(self, name: str) -> httpx2.URL:
        return self.base.join(name)


def scope_of(text: str) -> Scope:
    """The site at an address: a folder, or the folder around a file such as `index.html`."""
    url = site_url(text).copy_with(query=None)
    head, _, last = url.path.rpartition("/")
    path = f"{head}/" if "." in last or not last else f"{url.path}/"
    return Scope(base=url.copy_with(path=path))


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, host_of(url), url.port or (443 if url.scheme == "https" else 80)
