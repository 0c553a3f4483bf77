"""The address of a site → which other addresses belong to it."""

from dataclasses import dataclass

import httpx2

from bookwise.adapters.web.addresses import host_of, site_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One host and port, and the pages below one folder on it."""

    base: httpx2.URL  #: ends with a slash

    def foreign(self, url: httpx2.URL) -> str:
        """Why an address is not on this site; empty when it is."""
        origin = _origin(self.base)
        # An http address may redirect to https, but not the other way round.
        https = ("https", origin[1], 443) if origin[0] == "http" and origin[2] == 80 else origin
        return "" if _origin(url) in (origin, https) else "on another host"

    def outside(self, url: httpx2.URL) -> str:
        """Why an address is not a page of this book; empty when it is."""
        is_inside = url.path.startswith(self.base.path) or url.path + "/" == self.base.path
        return self.foreign(url) or ("" if is_inside else f"outside {self.base.path}")

    def at_root(self, name: str) -> httpx2.URL:
        """The address of a file at the root of the host."""
        return self.base.copy_with(raw_path=f"/{name}".encode())

    def at_base(self, name: str) -> httpx2.URL:
        """The address of a file in the folder of the book."""
        return self.base.join(name)


def scope_of(text: str) -> Scope:
    """The scope of an address: the folder it names, or the folder of a file such as `index.html`."""
    url = site_url(text).copy_with(query=None)
    head, _, last = url.path.rpartition("/")
    path = f"{head}/" if "." in last or not last else f"{url.path}/"
    return Scope(base=url.copy_with(path=path))


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, host_of(url), url.port or (443 if url.scheme == "https" else 80)
