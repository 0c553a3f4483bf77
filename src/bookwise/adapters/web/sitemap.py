"""robots.txt and sitemaps → the pages of a site."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.robotparser import RobotFileParser
from xml.parsers import expat

import anyio.to_thread
import httpx2

from bookwise.adapters.web.addresses import site_url
from bookwise.adapters.web.fetch import USER_AGENT, FetchedPage, Fetcher
from bookwise.adapters.web.scope import Scope
from bookwise.domain.errors import BadSource, Unavailable

ROBOTS_BYTES = 512 * 1024
SITEMAP_BYTES = 10 * 2**20
MAX_SITEMAPS = 50
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PageProblem:
    """A page that is missing from the mirror or outdated in it, and the reason."""

    url: str
    reason: str  #: stable slug: `robots`, `other-site`, `not-html`, `noindex`, `unavailable`, …
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapPages:
    """The pages of a book according to the sitemaps of its site."""

    pages: tuple[httpx2.URL, ...]
    problems: tuple[PageProblem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntries:
    """The addresses in one sitemap file."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapRef:
    """A sitemap to read. One that the site itself names is required: it must be readable."""

    url: str
    required: bool = False


async def fetch_robots(fetcher: Fetcher, scope: Scope) -> RobotFileParser:
    """The rules in the site's robots.txt; a site without one allows everything."""
    url = scope.at_root("robots.txt")
    fetched = await fetcher.fetch(url, reject=scope.foreign, max_bytes=ROBOTS_BYTES)
    rules = RobotFileParser(str(url))
    if fetched.status == 200:
        rules.parse(fetched.body.decode("utf-8", "replace").splitlines())
    elif fetched.status in (401, 403):
        rules.parse(["User-agent: *", "Disallow: /"])
    elif 400 <= fetched.status < 500 and fetched.status != 429:
        rules.parse([])
    else:
        raise _http_error(url, fetched.status)
    return rules


async def find_pages(fetcher: Fetcher, scope: Scope, rules: RobotFileParser) -> SitemapPages:
    """The pages in sitemap order, from the first sitemap location that lists any page of this book.

    `BadSource` if no location does.
    """
    walk = SitemapWalk(fetcher=fetcher, scope=scope, rules=rules)
    for sitemaps in _sitemap_locations(scope, rules):
        await walk.read(sitemaps)
        if walk.pages:
            return SitemapPages(pages=tuple(walk.pages.values()), problems=tuple(walk.problems.values()))
    raise walk.no_pages()


def _sitemap_locations(scope: Scope, rules: RobotFileParser) -> list[list[SitemapRef]]:
    """Groups of sitemaps, in the order in which they are tried."""
    robots = scope.at_root("robots.txt")
    at_base = [SitemapRef(url=str(scope.at_base("sitemap.xml")))]
    in_robots = [SitemapRef(url=_absolute(robots, text), required=True) for text in rules.site_maps() or ()]
    at_root = [SitemapRef(url=str(scope.at_root("sitemap.xml")))]
    return [in_robots, at_root] if scope.base.path == "/" else [at_base, in_robots, at_root]


@dataclass(slots=True, kw_only=True)
class SitemapWalk:
    """Reads sitemaps and the sitemaps they refer to, each once."""

    fetcher: Fetcher
    scope: Scope
    rules: RobotFileParser
    pages: dict[str, httpx2.URL] = field(default_factory=dict)
    problems: dict[str, PageProblem] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    forbidden: bool = False

    async def read(self, sitemaps: Sequence[SitemapRef]) -> None:
        """Adds the pages in these sitemaps."""
        queue = deque(sitemaps)
        while queue:
            sitemap = queue.popleft()
            if sitemap.url in self.seen:
                continue
            self.seen.add(sitemap.url)
            if len(self.seen) > MAX_SITEMAPS:
                raise BadSource(
                    f"{self.scope.base} has more than {MAX_SITEMAPS} sitemaps.",
                    advice="Use the address of one book on the site, or publish fewer sitemaps.",
                )
            entries = await self._entries(sitemap)
            queue += [SitemapRef(url=url, required=True) for url in entries.sitemaps]
            for address in entries.pages:
                self._add(address)

    def no_pages(self) -> BadSource:
        """The error for a site whose sitemaps list no page of the book."""
        if self.forbidden:
            return BadSource(
                f"robots.txt does not allow {USER_AGENT} to read {self.scope.base}.",
                advice="Ask the site owner to allow it, or ingest the source folder of the site.",
            )
        return BadSource(
            f"{self.scope.base} has no sitemap that lists its pages. {' '.join(self.messages)}".rstrip(),
            advice="Publish a sitemap.xml with the site, or ingest the source folder of the site.",
        )

    async def _entries(self, sitemap: SitemapRef) -> SitemapEntries:
        try:
            fetched = await self._fetch(sitemap)
            if isinstance(fetched, PageProblem):
                return self._ignore(sitemap, fetched)
            return await anyio.to_thread.run_sync(parse_sitemap, fetched)
        except BadSource as error:
            # Without a sitemap that the site names, its pages would look removed.
            if sitemap.required:
                raise
            return self._ignore(sitemap, PageProblem(url=sitemap.url, reason="", detail=error.message))

    async def _fetch(self, sitemap: SitemapRef) -> FetchedPage | PageProblem:
        url = site_url(sitemap.url)
        if reason := self.scope.foreign(url):
            return PageProblem(url=str(url), reason="other-site", detail=f"The sitemap {url} is {reason}.")
        if not sitemap.required and not self.rules.can_fetch(USER_AGENT, str(url)):
            self.forbidden = True
            return PageProblem(url=str(url), reason="robots", detail=f"robots.txt does not allow reading {url}.")
        if url.path.endswith(".gz"):
            return PageProblem(
                url=str(url), reason="compressed", detail=f"The sitemap {url} is a .gz file, which is not supported."
            )
        fetched = await self.fetcher.fetch(url, reject=self.scope.foreign, max_bytes=SITEMAP_BYTES)
        if fetched.status >= 500 or fetched.status == 429:
            raise _http_error(url, fetched.status)
        if fetched.status != 200:
            return PageProblem(url=str(url), reason="missing", detail=f"{url} returned HTTP {fetched.status}.")
        return fetched

    def _ignore(self, sitemap: SitemapRef, problem: PageProblem) -> SitemapEntries:
        self.messages.append(problem.detail)
        if sitemap.required:
            self.problems[problem.url] = problem
        return SitemapEntries()

    def _add(self, address: str) -> None:
        try:
            url = site_url(address)
        except BadSource as error:
            self.problems[address] = PageProblem(url=address[:200], reason="no-address", detail=error.message)
            return
        if reason := self.scope.foreign(url):
            self.problems[str(url)] = PageProblem(url=str(url), reason="other-site", detail=f"The page is {reason}.")
        elif self.scope.outside(url):
            pass  # other parts of a large site are expected, not a problem
        elif not self.rules.can_fetch(USER_AGENT, str(url)):
            self.forbidden = True
            self.problems[str(url)] = PageProblem(
                url=str(url), reason="robots", detail="robots.txt does not allow reading it."
            )
        else:
            self.pages[str(url)] = url


def parse_sitemap(fetched: FetchedPage) -> SitemapEntries:
    """The addresses in a sitemap; `BadSource` for anything but plain XML without a document type."""
    if fetched.body.startswith(b"\x1f\x8b"):
        raise BadSource(f"The sitemap {fetched.url} is compressed.", advice="Publish it as plain XML.")
    reader = _SitemapReader(fetched.url)
    try:
        reader.feed(fetched.body)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise BadSource(
            f"{fetched.url} is not a sitemap: {error}.", advice="Publish the sitemap as plain XML."
        ) from error
    return reader.entries()


class _SitemapReader:
    """Collects addresses from the elements of a sitemap. Rejects a document type before its entities can expand."""

    def __init__(self, url: httpx2.URL) -> None:
        self._url = url
        self._path: list[str] = []
        self._text: list[str] = []
        self._addresses: dict[tuple[str, ...], list[str]] = {
            ("urlset", "url"): [],
            ("sitemapindex", "sitemap"): [],
        }

    def feed(self, body: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._reject_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.Parse(body, True)

    def entries(self) -> SitemapEntries:
        pages, sitemaps = self._addresses.values()
        return SitemapEntries(pages=tuple(pages), sitemaps=tuple(sitemaps))

    def _reject_doctype(self, *_: object) -> None:
        raise ValueError("it has a document type")

    def _start(self, name: str, _: object) -> None:
        self._path.append(name.rpartition(" ")[2])
        if len(self._path) > _MAX_DEPTH:
            raise ValueError("its elements are nested too deeply")
        self._text.clear()

    def _end(self, _: str) -> None:
        *parents, name = self._path
        if name == "loc" and (addresses := self._addresses.get(tuple(parents))) is not None:
            addresses.append(_absolute(self._url, "".join(self._text).strip()))
        self._path.pop()
        self._text.clear()


def _absolute(base: httpx2.URL, text: str) -> str:
    try:
        return str(base.join(text))
    except httpx2.InvalidURL:
        return text  # rejected where it is used


def _http_error(url: httpx2.URL, status: int) -> Unavailable:
    return Unavailable(f"{url} returned HTTP {status}.", advice="Try again later.")
