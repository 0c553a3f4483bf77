"""A live site → a folder that can be ingested as a book."""

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
from bookwise.adapters.web.page import forbids_indexing, summarize_page, utf8
from bookwise.adapters.web.scope import Scope, scope_of
from bookwise.adapters.web.sitemap import PageProblem, SitemapPages, fetch_robots, find_pages
from bookwise.adapters.web.transport import Resolve, system_addresses
from bookwise.domain.errors import BadSource, BookwiseError, StoreUnavailable, Unavailable

__all__ = ["MirrorReport", "PageProblem", "SiteOptions", "mirror"]

HTML = frozenset({"text/html", "application/xhtml+xml"})

OnPage = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport:
    """The result of one mirror run."""

    base_url: str
    pages: int  #: in the mirror now
    fetched: int = 0  #: new or changed
    unchanged: int = 0
    removed: int = 0  #: no longer in the mirror
    skipped: tuple[PageProblem, ...] = ()  #: excluded by a rule
    failed: tuple[PageProblem, ...] = ()  #: could not be read; an older copy is kept


async def mirror(
    url: str,
    folder: Path,
    *,
    options: SiteOptions,
    on_page: OnPage | None = None,
    resolve: Resolve = system_addresses,
) -> MirrorReport:
    """Updates the folder to match the pages listed in a site's sitemap.

    After an error the manifest of the previous run stays valid. `on_page` is called with (pages done, total pages).
    Raises `BadSource` if the site cannot be used as a book and `Unavailable` if it cannot be read now.
    """
    scope = scope_of(url)
    try:
        with anyio.fail_after(options.total_seconds):
            async with open_fetcher(options, resolve) as fetcher:
                return await _mirror(fetcher, scope, folder, options, on_page)
    except TimeoutError as error:
        raise Unavailable(
            f"Reading {scope.base} took longer than {options.total_seconds:.3g} s.",
            advice="Try again later, or use the address of a smaller part of the site.",
        ) from error


async def _mirror(
    fetcher: Fetcher, scope: Scope, folder: Path, options: SiteOptions, on_page: OnPage | None
) -> MirrorReport:
    rules = await fetch_robots(fetcher, scope)
    sitemap = await find_pages(fetcher, scope, rules)
    _check_page_count(sitemap, scope, options)
    disk = MirrorFolder(folder)
    previous = await anyio.to_thread.run_sync(disk.pages)
    run = MirrorRun(fetcher=fetcher, scope=scope, rules=rules, options=options, disk=disk, previous=previous)
    await run.read_all(sitemap.pages, on_page)
    pages = run.result(sitemap.pages)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    await anyio.to_thread.run_sync(disk.commit, str(scope.base), now, pages)
    return MirrorReport(
        base_url=str(scope.base),
        pages=len(pages),
        fetched=run.fetched,
        unchanged=run.unchanged,
        removed=len(previous.keys() - {page.file for page in pages}),
        skipped=(*sitemap.problems, *run.skipped),
        failed=tuple(run.failed),
    )


def _check_page_count(sitemap: SitemapPages, scope: Scope, options: SiteOptions) -> None:
    if len(sitemap.pages) > options.max_pages:
        raise BadSource(
            f"{scope.base} is too large: its sitemap lists {len(sitemap.pages):,} pages, "
            f"more than {options.max_pages:,}.",
            advice="Use the address of one book on the site, or increase BOOKWISE_SITE_MAX_PAGES.",
        )


@dataclass(slots=True, kw_only=True)
class MirrorRun:
    """Reads the pages of a site, a few at a time, and collects the result."""

    fetcher: Fetcher
    scope: Scope
    rules: RobotFileParser
    options: SiteOptions
    disk: MirrorFolder
    previous: dict[str, Page]
    current: dict[str, Page] = field(default_factory=dict)
    skipped: list[PageProblem] = field(default_factory=list)
    failed: list[PageProblem] = field(default_factory=list)
    fetched: int = 0
    unchanged: int = 0

    async def read_all(self, urls: tuple[httpx2.URL, ...], on_page: OnPage | None) -> None:
        """Reads every page; `BadSource` as soon as the site exceeds the size limit."""
        remaining, done = iter(urls), 0
        errors: list[BookwiseError] = []

        async def work() -> None:
            nonlocal done
            try:
                for url in remaining:
                    await self._read(url)
                    done += 1
                    if on_page is not None:
                        on_page(done, len(urls))
            except BookwiseError as error:
                errors.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for _ in range(self.options.concurrency):
                group.start_soon(work)
        if errors:
            raise errors[0]

    def result(self, urls: tuple[httpx2.URL, ...]) -> list[Page]:
        """The pages of the mirror in sitemap order, each address once."""
        pages: dict[str, Page] = {}
        for file in map(file_of, map(str, urls)):
            if (page := self.current.get(file)) is None:
                continue
            if pages.setdefault(page.url, page) is not page:
                self.skipped.append(PageProblem(url=page.url, reason="twice", detail="Listed more than once."))
        if not pages:
            raise self._no_pages()
        return list(pages.values())

    async def _read(self, url: httpx2.URL) -> None:
        file = file_of(str(url))
        old = self.previous.get(file)
        try:
            await self._fetch(file, url, old)
        except StoreUnavailable:
            raise  # the local disk failed, not the page
        except (BadSource, Unavailable) as error:
            self.fetcher.check_total()
            self.failed.append(PageProblem(url=str(url), reason=error.code, detail=error.message))
            if old is not None:
                self.current[file] = old

    async def _fetch(self, file: str, url: httpx2.URL, old: Page | None) -> None:
        fetched = await self.fetcher.fetch(
            url,
            reject=self._rejection,
            max_bytes=self.options.max_page_bytes,
            validators=old.validators if old else None,
        )
        if fetched.status == 304 and old is not None:
            self.current[file] = old
            self.unchanged += 1
        elif exclusion := _exclusion(fetched):
            self._skip(url, *exclusion)
        elif fetched.status != 200:
            raise Unavailable(
                f"{fetched.url} returned HTTP {fetched.status}.",
                advice="Try again later, or remove the page from the sitemap.",
            )
        else:
            await self._store(file, fetched, old)

    async def _store(self, file: str, fetched: FetchedPage, old: Page | None) -> None:
        page = await anyio.to_thread.run_sync(self._write, file, fetched, old)
        if page is None:
            self._skip(fetched.url, "noindex", "The page does not allow indexing (noindex).")
            return
        self.current[file] = page
        if old is not None and page.sha256 == old.sha256:
            self.unchanged += 1
        else:
            self.fetched += 1

    def _write(self, file: str, fetched: FetchedPage, old: Page | None) -> Page | None:
        headers = fetched.headers
        body = utf8(fetched.body, headers.get("Content-Type", ""))
        summary = summarize_page(body.decode("utf-8", "replace"))
        if summary.noindex or forbids_indexing(headers.get("X-Robots-Tag", "")):
            return None
        return Page(
            file=file,
            url=str(fetched.url),
            title=summary.title,
            sha256=self.disk.store(file, body, old),
            etag=headers.get("ETag", ""),
            last_modified=headers.get("Last-Modified", ""),
        )

    def _rejection(self, url: httpx2.URL) -> str:
        allowed = self.rules.can_fetch(USER_AGENT, str(url))
        return self.scope.outside(url) or ("" if allowed else "forbidden by robots.txt")

    def _skip(self, url: httpx2.URL, reason: str, detail: str) -> None:
        self.skipped.append(PageProblem(url=str(url), reason=reason, detail=detail))

    def _no_pages(self) -> BookwiseError:
        problems = [*self.failed, *self.skipped]
        message = f"No page of {self.scope.base} could be read. First problem: {problems[0].detail}"
        if self.failed:
            return Unavailable(message, advice="Try again later.")
        return BadSource(message, advice="Use the address of a site with HTML pages that allow indexing.")


def _exclusion(fetched: FetchedPage) -> tuple[str, str] | None:
    """Reason and detail if a rule keeps the page out of the mirror."""
    if fetched.status == 410:
        return "gone", "The site reports that the page is gone (HTTP 410)."
    if fetched.status == 200 and fetched.media_type not in HTML:
        return "not-html", f"The page is not HTML but {fetched.media_type or 'has no media type'}."
    return None
