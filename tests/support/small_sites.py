"""Pages, sitemaps and rules into a small site, and what a mirror of it holds."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bookwise.adapters.site import MirrorReport, PageProblem, SiteOptions, mirror
from bookwise.adapters.web.folder import MANIFEST
from tests.support.scripted_http import Reply, routed

LOCAL = SiteOptions(allow_private=True)
HTML = {"Content-Type": "text/html; charset=utf-8"}


def page(title: str, **changes: Any) -> Reply:
    body = f"<title>{title} | Book</title><main><h1>{title}</h1><p>About it.</p></main>"
    return replace(Reply(headers=HTML, body=body.encode()), **changes)


def sitemap(*locations: str, index: bool = False) -> Reply:
    root, entry = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = "".join(f"<{entry}><loc>{location}</loc></{entry}>" for location in locations)
    xml = f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{root}>'
    return Reply(headers={"Content-Type": "application/xml"}, body=xml.encode())


def robots(*lines: str) -> Reply:
    return Reply(headers={"Content-Type": "text/plain"}, body="\n".join(lines).encode())


def site(*names: str, **more: Reply) -> dict[str, Reply]:
    """A site with a sitemap of these pages; further replies are named by their path without the slash."""
    routes = {"/sitemap.xml": sitemap(*(f"/{name}" for name in names))}
    routes |= {f"/{name}": page(name.capitalize()) for name in names}
    return routes | {f"/{name}": reply for name, reply in more.items()}


def manifest(folder: Path) -> Any:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def titles(folder: Path) -> list[str]:
    return [entry["title"] for entry in manifest(folder)["pages"]]


def texts(folder: Path) -> list[bytes]:
    return [(folder / entry["file"]).read_bytes() for entry in manifest(folder)["pages"]]


def files(folder: Path) -> list[Path]:
    return list(folder.glob("*.html"))


def reasons(problems: Iterable[PageProblem]) -> list[tuple[str, str]]:
    return sorted((problem.url.rpartition("/")[2], problem.reason) for problem in problems)


async def visit(
    routes: dict[str, Reply], folder: Path, *, options: SiteOptions = LOCAL, path: str = "/"
) -> MirrorReport:
    async with routed(routes) as server:
        return await mirror(f"{server.url}{path}", folder, options=options)
