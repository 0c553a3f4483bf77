"""robots.txt and sitemaps into the pages a site offers."""

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
_DEEPEST_ELEMENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNote:
    """A page that is not in the mirror as it should be, and why."""

    url: str
    reason: str  #: stable slug: `robots`, `other-site`, `not-html`, `noindex`, `unavailable`, …
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a site's sitemaps say."""

    pages: tuple[httpx2.URL, ...]
    notes: tuple[PageNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locations:
    """What one sitemap file lists."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A sitemap to read; one that the site itself named must be readable."""

    url: str
    needed: bool = False


async def fetch_robots(fetcher: Fetcher, scope: Scope) -> RobotFileParser:
    """The site's rules for visitors; a site without a robots.txt allows everything."""
    url = scope.at_root("robots.txt")
    fetched = await fetcher.fetch(url, refuse=scope.foreign, most_bytes=ROBOTS_BYTES)
    rules = RobotFileParser(str(url))
    if fetched.status == 200:
        rules.parse(fetched.body.decode("utf-8", "replace").splitlines())
    elif fetched.status in (401, 403):
        rules.parse(["User-agent: *", "Disallow: /"])
    elif 400 <= fetched.status < 500 and fetched.status != 429:
        rules.parse([])
    else:
        raise _no_answer(url, fetched.status)
    return rules


async def listed_pages(fetcher: Fetcher, scope: Scope, rules: RobotFileParser) -> Listing:
    """The pages in the order of the sitemap, from the first place that lists any of this book."""
    walk = SitemapWalk(fetcher=fetcher, scope=scope, rules=rules)
    for wanted in _places(scope, rules):
        await walk.read(wanted)
        if walk.found:
            return Listing(pages=tuple(walk.found.values()), notes=tuple(walk.notes.values()))
    raise walk.nothing_found()


def _places(scope: Scope, rules: RobotFileParser) -> list[list[Wanted]]:
    robots = scope.at_root("robots.txt")
    own = [Wanted(url=str(scope.at_base("sitemap.xml")))]
    offered = [Wanted(url=_absolute(robots, text), needed=True) for text in rules.site_maps() or ()]
    at_root = [Wanted(url=str(scope.at_root("sitemap.xml")))]
    return [offered, at_root] if scope.base.path == "/" else [own, offered, at_root]


@dataclass(slots=True, kw_only=True)
class SitemapWalk:
    """Reads sitemaps and the sitemaps they name, each once."""

    fetcher: Fetcher
    scope: Scope
    rules: RobotFileParser
    found: dict[str, httpx2.URL] = field(default_factory=dict)
    notes: dict[str, PageNote] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    forbidden: bool = False

    async def read(self, wanted: Sequence[Wanted]) -> None:
        """Adds what these sitemaps list."""
        queue = deque(wanted)
        while queue:
            sitemap = queue.popleft()
            if sitemap.url in self.seen:
                continue
            self.seen.add(sitemap.url)
            if len(self.seen) > MAX_SITEMAPS:
                raise BadSource(f"{self.scope.base} has more than {MAX_SITEMAPS} sitemaps.")
            locations = await self._locations(sitemap)
            queue += [Wanted(url=url, needed=True) for url in locations.sitemaps]
            for location in locations.pages:
                self._take(location)

    def nothing_found(self) -> BadSource:
        if self.forbidden:
            return BadSource(
                f"robots.txt forbids {USER_AGENT} to read {self.scope.base}.",
                advice="Ask the site's owner, or ingest the folder the site is made from.",
            )
        return BadSource(
            f"{self.scope.base} has no sitemap that lists its pages. {' '.join(self.problems)}".rstrip(),
            advice="Publish a sitemap.xml with the site, or ingest the folder the site is made from.",
        )

    async def _locations(self, sitemap: Wanted) -> Locations:
        try:
            fetched = await self._fetch(sitemap)
            if isinstance(fetched, PageNote):
                return self._pass_over(sitemap, fetched)
            return await anyio.to_thread.run_sync(sitemap_locations, fetched)
        except BadSource as error:
            # Going on without a sitemap the site named would look as if its pages were gone.
            if sitemap.needed:
                raise
            return self._pass_over(sitemap, PageNote(url=sitemap.url, reason="", detail=error.message))

    async def _fetch(self, sitemap: Wanted) -> FetchedPage | PageNote:
        url = site_url(sitemap.url)
        if reason := self.scope.foreign(url):
            return PageNote(url=str(url), reason="other-site", detail=f"The sitemap {url} is {reason}.")
        if not sitemap.needed and not self.rules.can_fetch(USER_AGENT, str(url)):
            self.forbidden = True
            return PageNote(url=str(url), reason="robots", detail=f"robots.txt forbids {url}.")
        if url.path.endswith(".gz"):
            return PageNote(url=str(url), reason="compressed", detail=f"The sitemap {url} is a .gz file.")
        fetched = await self.fetcher.fetch(url, refuse=self.scope.foreign, most_bytes=SITEMAP_BYTES)
        if fetched.status >= 500 or fetched.status == 429:
            raise _no_answer(url, fetched.status)
        if fetched.status != 200:
            return PageNote(url=str(url), reason="missing", detail=f"{url} answers HTTP {fetched.status}.")
        return fetched

    def _pass_over(self, sitemap: Wanted, note: PageNote) -> Locations:
        self.problems.append(note.detail)
        if sitemap.needed:
            self.notes[note.url] = note
        return Locations()

    def _take(self, location: str) -> None:
        try:
            url = site_url(location)
        except BadSource as error:
            self.notes[location] = PageNote(url=location[:200], reason="no-address", detail=error.message)
            return
        if reason := self.scope.foreign(url):
            self.notes[str(url)] = PageNote(url=str(url), reason="other-site", detail=f"The page is {reason}.")
        elif self.scope.outside(url):
            pass  # the rest of a large site is not a fault of the book on it
        elif not self.rules.can_fetch(USER_AGENT, str(url)):
            self.forbidden = True
            self.notes[str(url)] = PageNote(url=str(url), reason="robots", detail="robots.txt forbids it.")
        else:
            self.found[str(url)] = url


def sitemap_locations(fetched: FetchedPage) -> Locations:
    """The addresses a sitemap lists; `BadSource` for anything but plain XML without a document type."""
    if fetched.body.startswith(b"\x1f\x8b"):
        raise BadSource(f"The sitemap {fetched.url} is compressed.", advice="Publish it as plain XML.")
    reader = _SitemapReader(fetched.url)
    try:
        reader.feed(fetched.body)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise BadSource(
            f"{fetched.url} is not a sitemap: {error}.", advice="Publish a sitemap in plain XML."
        ) from error
    return reader.locations()


class _SitemapReader:
    """Hears the elements of a sitemap go by. A document type is refused before its entities could unfold."""

    def __init__(self, url: httpx2.URL) -> None:
        self._url = url
        self._path: list[str] = []
        self._text: list[str] = []
        self._found: dict[tuple[str, ...], list[str]] = {
            ("urlset", "url"): [],
            ("sitemapindex", "sitemap"): [],
        }

    def feed(self, body: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.Parse(body, True)

    def locations(self) -> Locations:
        pages, sitemaps = self._found.values()
        return Locations(pages=tuple(pages), sitemaps=tuple(sitemaps))

    def _refuse(self, *_: object) -> None:
        raise ValueError("it has a document type")

    def _start(self, name: str, _: object) -> None:
        self._path.append(name.rpartition(" ")[2])
        if len(self._path) > _DEEPEST_ELEMENT:
            raise ValueError("its elements are nested too deeply")
        self._text.clear()

    def _end(self, _: str) -> None:
        *above, name = self._path
        if name == "loc" and (found := self._found.get(tuple(above))) is not None:
            found.append(_absolute(self._url, "".join(self._text).strip()))
        self._path.pop()
        self._text.clear()


def _absolute(base: httpx2.URL, text: str) -> str:
    try:
        return str(base.join(text))
    except httpx2.InvalidURL:
        return text  # refused where it is used


def _no_answer(url: httpx2.URL, status: int) -> Unavailable:
    return Unavailable(f"{url} answers HTTP {status}.", advice="Try again later.")
