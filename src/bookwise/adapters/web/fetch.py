"""An address into the bytes that stand there, within limits of time, size and place."""

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

Refuse = Callable[[httpx2.URL], str]  #: why an address may not be asked for; empty when it may


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheValidators:
    """What was fetched before, so that a site can say that nothing changed."""

    url: str
    etag: str = ""
    last_modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        given = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in given.items() if value and value.isascii()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """One answer, after redirects."""

    url: httpx2.URL  #: where it was found
    status: int
    headers: httpx2.Headers
    body: bytes = b""

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class Fetcher:
    """Asks one site, and counts what the whole visit costs."""

    def __init__(self, client: httpx2.AsyncClient, options: SiteOptions) -> None:
        self._client = client
        self._options = options
        self._spent = 0

    async def fetch(
        self, url: httpx2.URL, *, refuse: Refuse, most_bytes: int, known: CacheValidators | None = None
    ) -> FetchedPage:
        """The answer behind the redirects; `Unavailable` when none comes, `BadSource` when it is unfit."""
        seconds = self._options.request_seconds
        try:
            with anyio.fail_after(seconds):
                return await self._follow(url, refuse, most_bytes, known)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Unavailable(f"{url} was not read within {seconds:.3g} s.", advice="Try again later.") from error
        except httpx2.InvalidURL as error:
            # The client looks at every Location, also where it does not follow.
            raise BadSource(f"{url} redirects to something that is no address.") from error
        except (httpx2.RequestError, zlib.error) as error:
            raise Unavailable(
                f"{url} cannot be read: {type(error).__name__}.",
                advice="Check the address, or try again later.",
            ) from error

    def check_total(self) -> None:
        """`BadSource` once the visit has read more than it may."""
        limit = self._options.max_total_bytes
        if self._spent > limit:
            raise BadSource(
                f"The site is too large: more than {limit:,} bytes.",
                advice="Give the address of one book on the site, or raise max_total_bytes.",
            )

    async def _follow(
        self, url: httpx2.URL, refuse: Refuse, most_bytes: int, known: CacheValidators | None
    ) -> FetchedPage:
        for _ in range(self._options.max_redirects + 1):
            conditions = known.conditions if known and known.url == str(url) else {}
            async with self._client.stream("GET", url, headers=conditions) as response:
                if response.status_code not in _REDIRECTS:
                    body = await self._body(response, most_bytes) if response.status_code == 200 else b""
                    return FetchedPage(url=url, status=response.status_code, headers=response.headers, body=body)
                url = _target(url, response.headers.get("Location", ""), refuse)
        raise BadSource(f"More than {self._options.max_redirects} redirects, the last one to {url}.")

    async def _body(self, response: httpx2.Response, most_bytes: int) -> bytes:
        unpack = _Unpacking(response.headers.get("Content-Encoding", ""))
        sent, body = 0, bytearray()
        async for part in response.aiter_raw():
            unpacked = unpack(part, most_bytes + 1 - len(body))
            sent += len(part)
            body += unpacked
            if max(sent, len(body)) > most_bytes:
                raise BadSource(f"{response.url} is too large: more than {most_bytes:,} bytes.")
            self._spent += max(len(part), len(unpacked))
            self.check_total()
        unpack.check_complete()
        return bytes(body)


@asynccontextmanager
async def open_fetcher(options: SiteOptions, resolve: Resolve) -> AsyncIterator[Fetcher]:
    """A fetcher that obeys no environment: a proxy would connect to addresses nobody checked."""
    transport = PinnedTransport(allow_private=options.allow_private, resolve=resolve)
    async with httpx2.AsyncClient(
        transport=transport,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # a visitor without a memory
        timeout=None,
        trust_env=False,
    ) as client:
        yield Fetcher(client, options)


class _Unpacking:
    """Takes compressed parts and never gives out more than was asked for, whatever they unfold to."""

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise BadSource(f"The site sends {encoding[:40]!r}, which was not asked for.")
        self._zipped = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding.endswith("gzip") else None

    def __call__(self, part: bytes, most_bytes: int) -> bytes:
        return part if self._zipped is None else self._zipped.decompress(part, most_bytes)

    def check_complete(self) -> None:
        if self._zipped is not None and not self._zipped.eof:
            raise zlib.error("the body ends too early")


def _target(url: httpx2.URL, location: str, refuse: Refuse) -> httpx2.URL:
    target = site_url(str(url.join(location)))
    if reason := refuse(target):
        raise BadSource(
            f"{url} redirects to {target}, which is {reason}.",
            advice="If the site has moved, give its new address.",
        )
    return target
