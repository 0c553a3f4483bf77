"""A URL → its response, within limits of time, size and host."""

import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import anyio
import httpx2

from bookwise.adapters.web.addresses import site_url
from bookwise.adapters.web.options import SiteOptions
from bookwise.adapters.web.transport import PinnedTransport, Resolve
from bookwise.domain.errors import BadSource, Unavailable

USER_AGENT = "bookwise"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

Reject = Callable[[httpx2.URL], str]  #: why an address must not be requested; empty when it may be


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheValidators:
    """Identify the copy fetched before, so that the site can answer "not modified"."""

    url: str
    etag: str = ""
    last_modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value and value.isascii()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """One response, after redirects."""

    url: httpx2.URL  #: after redirects
    status: int
    headers: httpx2.Headers
    body: bytes = b""

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class Fetcher:
    """Sends requests to one site and counts the bytes of the whole run."""

    def __init__(self, client: httpx2.AsyncClient, options: SiteOptions) -> None:
        self._client = client
        self._options = options
        self._total_bytes = 0

    async def fetch(
        self, url: httpx2.URL, *, reject: Reject, max_bytes: int, validators: CacheValidators | None = None
    ) -> FetchedPage:
        """The response after redirects; `Unavailable` if there is none, `BadSource` if it breaks a limit."""
        seconds = self._options.request_seconds
        try:
            with anyio.fail_after(seconds):
                return await self._follow(url, reject, max_bytes, validators)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Unavailable(f"Reading {url} took longer than {seconds:.3g} s.", advice="Try again later.") from error
        except httpx2.InvalidURL as error:
            # The client parses every Location header, even when it does not follow redirects.
            raise BadSource(
                f"{url} redirects to an invalid address.",
                advice="Check the address, or correct the redirect on the site.",
            ) from error
        except (httpx2.RequestError, zlib.error) as error:
            raise Unavailable(
                f"{url} cannot be read: {type(error).__name__}.",
                advice="Check the address, or try again later.",
            ) from error

    def check_total(self) -> None:
        """`BadSource` once the run has read more than its byte limit."""
        limit = self._options.max_total_bytes
        if self._total_bytes > limit:
            raise BadSource(
                f"The site is too large: more than {limit:,} bytes.",
                advice="Use the address of one book on the site, or of a smaller part of it.",
            )

    async def _follow(
        self, url: httpx2.URL, reject: Reject, max_bytes: int, validators: CacheValidators | None
    ) -> FetchedPage:
        for _ in range(self._options.max_redirects + 1):
            headers = validators.headers if validators and validators.url == str(url) else {}
            async with self._client.stream("GET", url, headers=headers) as response:
                if response.status_code not in _REDIRECTS:
                    body = await self._body(response, max_bytes) if response.status_code == 200 else b""
                    return FetchedPage(url=url, status=response.status_code, headers=response.headers, body=body)
                url = _target(url, response.headers.get("Location", ""), reject)
        raise BadSource(
            f"The site sent more than {self._options.max_redirects} redirects, the last one to {url}.",
            advice="Use the final address of the site.",
        )

    async def _body(self, response: httpx2.Response, max_bytes: int) -> bytes:
        decompress = _Decompressor(response.headers.get("Content-Encoding", ""))
        received, body = 0, bytearray()
        async for part in response.aiter_raw():
            content = decompress(part, max_bytes + 1 - len(body))
            received += len(part)
            body += content
            if max(received, len(body)) > max_bytes:
                raise BadSource(
                    f"{response.url} is too large: more than {max_bytes:,} bytes.",
                    advice="Split the page, or exclude it from the sitemap.",
                )
            self._total_bytes += max(len(part), len(content))
            self.check_total()
        decompress.check_complete()
        return bytes(body)


@asynccontextmanager
async def open_fetcher(options: SiteOptions, resolve: Resolve) -> AsyncIterator[Fetcher]:
    """A fetcher that ignores proxy settings: a proxy would connect to addresses that were not checked."""
    transport = PinnedTransport(allow_private=options.allow_private, resolve=resolve)
    async with httpx2.AsyncClient(
        transport=transport,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # never store cookies
        timeout=None,
        trust_env=False,
    ) as client:
        yield Fetcher(client, options)


class _Decompressor:
    """Decompresses a body part by part and never returns more than the requested number of bytes."""

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise BadSource(
                f"The site uses the content encoding {encoding[:40]!r}, but only gzip was accepted.",
                advice="Serve the pages uncompressed or with gzip.",
            )
        self._gzip = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.endswith("gzip") else None

    def __call__(self, part: bytes, max_bytes: int) -> bytes:
        return part if self._gzip is None else self._gzip.decompress(part, max_bytes)

    def check_complete(self) -> None:
        if self._gzip is not None and not self._gzip.eof:
            raise zlib.error("the body ends too early")


def _target(url: httpx2.URL, location: str, reject: Reject) -> httpx2.URL:
    target = site_url(str(url.join(location)))
    if reason := reject(target):
        raise BadSource(
            f"{url} redirects to {target}, which is {reason}.",
            advice="If the site has moved, use its new address.",
        )
    return target
