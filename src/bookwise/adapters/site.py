"""A live site into a folder that can be read as a book."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.robotparser import RobotFileParser

import anyio
import anyio.to_thread
import httpx2

from bookwise.adapters.web.fetch import USER_AGENT, FetchedPage, Fetcher, open_fetcher
from bookwise.adapters.web.folder import MirrorFolder, Page, file_of
from bookwise.adapters.web.options import SiteOptions
from bookwise.adapters.web.page import asks_not_to_be_indexed, summarize_page, utf8
from bookwise.adapters.web.scope import Scope, scope_of
from bookwise.adapters.web.sitemap import Listing, PageNote, fetch_robots, listed_pages
from bookwise.adapters.web.transport import Resolve, system_addresses
from bookwise.domain.errors import BadSource, BookwiseError, StoreUnavailable, Unavailable

__all__ = ["MirrorReport", "PageNote", "SiteOptions", "mirror"]

HTML = frozenset({"text/html", "application/xhtml+xml"})

OnPage = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport:
    """What one visit did."""

    base_url: str
    pages: int  #: in the mirror now
    fetched: int = 0  #: new or changed
    unchanged: int = 0
    removed: int = 0  #: were in the mirror and are no longer
    skipped: tuple[PageNote, ...] = ()  #: left out, by a rule
    failed: tuple[PageNote, ...] = ()  #: could not be read; an older copy stays


async def mirror(
    url: str,
    folder: Path,
    *,
    options: SiteOptions,
    on_page: OnPage | None = None,
    resolve: Resolve = system_addresses,
) -> MirrorReport:
    """Brings the folder in line with the pages a site's sitemap lists.

    An error leaves the manifest of the last visit in force. `on_page` hears (pages done, pages in all).
    """
    scope = scope_of(url)
    try:
        with anyio.fail_after(options.total_seconds):
            async with open_fetcher(options, resolve) as fetcher:
                return await _visit(fetcher, scope, folder, options, on_page)
    except TimeoutError as error:
        raise Unavailable(
            f"{scope.base} was not read within {options.total_seconds:.3g} s.",
            advice="Try again later, or give the address of a smaller part of the site.",
        ) from error


async def _visit(
    fetcher: Fetcher, scope: Scope, folder: Path, options: SiteOptions, on_page: OnPage | None
) -> MirrorReport:
    rules = await fetch_robots(fetcher, scope)
    listing = await listed_pages(fetcher, scope, rules)
    _check_number(listing, scope, options)
    disk = MirrorFolder(folder)
    known = await anyio.to_thread.run_sync(disk.pages)
    visit = Visit(fetcher=fetcher, scope=scope, rules=rules, options=options, disk=disk, known=known)
    await visit.read_all(listing.pages, on_page)
    pages = visit.book(listing.pages)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    await anyio.to_thread.run_sync(disk.commit, str(scope.base), now, pages)
    return MirrorReport(
        base_url=str(scope.base),
        pages=len(pages),
        fetched=visit.fetched,
        unchanged=visit.unchanged,
        removed=len(known.keys() - {page.file for page in pages}),
        skipped=(*listing.notes, *visit.skipped),
        failed=tuple(visit.failed),
    )


def _check_number(listing: Listing, scope: Scope, options: SiteOptions) -> None:
    if len(listing.pages) > options.max_pages:
        raise BadSource(
            f"{scope.base} is too large: its sitemap lists {len(listing.pages):,} pages, "
            f"more than {options.max_pages:,}.",
            advice="Give the address of one book on the site, or raise max_pages.",
        )


@dataclass(slots=True, kw_only=True)
class Visit:
    """The reading of a site's pages, a few at a time."""

    fetcher: Fetcher
    scope: Scope
    rules: RobotFileParser
    options: SiteOptions
    disk: MirrorFolder
    known: dict[str, Page]
    kept: dict[str, Page] = field(default_factory=dict)
    skipped: list[PageNote] = field(default_factory=list)
    failed: list[PageNote] = field(default_factory=list)
    fetched: int = 0
    unchanged: int = 0

    async def read_all(self, urls: tuple[httpx2.URL, ...], on_page: OnPage | None) -> None:
        """Reads every page; `BadSource` as soon as the site proves too large."""
        left, done = iter(urls), 0
        trouble: list[BookwiseError] = []

        async def work() -> None:
            nonlocal done
            try:
                for url in left:
                    await self._read(url)
                    done += 1
                    if on_page is not None:
                        on_page(done, len(urls))
            except BookwiseError as error:
                trouble.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for _ in range(self.options.concurrency):
                group.start_soon(work)
        if trouble:
            raise trouble[0]

    def book(self, urls: tuple[httpx2.URL, ...]) -> list[Page]:
        """The pages of the mirror in the sitemap's order, each address once."""
        pages: dict[str, Page] = {}
        for file in map(file_of, map(str, urls)):
            if (page := self.kept.get(file)) is None:
                continue
            if pages.setdefault(page.url, page) is not page:
                self.skipped.append(PageNote(url=page.url, reason="twice", detail="Listed more than once."))
        if not pages:
            raise self._nothing()
        return list(pages.values())

    async def _read(self, url: httpx2.URL) -> None:
        file = file_of(str(url))
        old = self.known.get(file)
        try:
            await self._take(file, url, old)
        except StoreUnavailable:
            raise  # our own disk, not the page
        except (BadSource, Unavailable) as error:
            self.fetcher.check_total()
            self.failed.append(PageNote(url=str(url), reason=error.code, detail=error.message))
            if old is not None:
                self.kept[file] = old

    async def _take(self, file: str, url: httpx2.URL, old: Page | None) -> None:
        fetched = await self.fetcher.fetch(
            url,
            refuse=self._refuse,
            most_bytes=self.options.max_page_bytes,
            known=old.known if old else None,
        )
        if fetched.status == 304 and old is not None:
            self.kept[file] = old
            self.unchanged += 1
        elif reason := _rule_against(fetched):
            self._skip(url, *reason)
        elif fetched.status != 200:
            raise Unavailable(f"{fetched.url} answers HTTP {fetched.status}.")
        else:
            await self._keep(file, fetched, old)

    async def _keep(self, file: str, fetched: FetchedPage, old: Page | None) -> None:
        page = await anyio.to_thread.run_sync(self._written, file, fetched, old)
        if page is None:
            self._skip(fetched.url, "noindex", "The page asks not to be indexed.")
            return
        self.kept[file] = page
        if old is not None and page.sha256 == old.sha256:
            self.unchanged += 1
        else:
            self.fetched += 1

    def _written(self, file: str, fetched: FetchedPage, old: Page | None) -> Page | None:
        headers = fetched.headers
        body = utf8(fetched.body, headers.get("Content-Type", ""))
        seen = summarize_page(body.decode("utf-8", "replace"))
        if seen.noindex or asks_not_to_be_indexed(headers.get("X-Robots-Tag", "")):
            return None
        return Page(
            file=file,
            url=str(fetched.url),
            title=seen.title,
            sha256=self.disk.keep(file, body, old),
            etag=headers.get("ETag", ""),
            last_modified=headers.get("Last-Modified", ""),
        )

    def _refuse(self, url: httpx2.URL) -> str:
        allowed = self.rules.can_fetch(USER_AGENT, str(url))
        return self.scope.outside(url) or ("" if allowed else "forbidden by robots.txt")

    def _skip(self, url: httpx2.URL, reason: str, detail: str) -> None:
        self.skipped.append(PageNote(url=str(url), reason=reason, detail=detail))

    def _nothing(self) -> BookwiseError:
        notes = [*self.failed, *self.skipped]
        message = f"No page of {self.scope.base} could be read; the first one: {notes[0].detail}"
        if self.failed:
            return Unavailable(message, advice="Try again later.")
        return BadSource(message, advice="Give a site of HTML pages that may be indexed.")


def _rule_against(fetched: FetchedPage) -> tuple[str, str] | None:
    if fetched.status == 410:
        return "gone", "The site says that the page is gone."
    if fetched.status == 200 and fetched.media_type not in HTML:
        return "not-html", f"The page is {fetched.media_type or 'of no named type'}, not HTML."
    return None
