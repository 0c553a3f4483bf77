"""The example sites with the widget, built where their generator is installed (`make recipes`), in a real browser."""

import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from bookwise.wiring import open_app
from tests.support.apps import ingested
from tests.support.embedders import shared_embedder
from tests.support.served import Served, served
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
expect.set_options(timeout=60_000)

ROOT = Path(__file__).parents[2]
EXAMPLES, TOOLS = ROOT / "examples" / "widget", ROOT / ".tools"
SITE, SERVICE = "http://localhost:3000", "http://localhost:8000"  #: the addresses in the examples
QUESTION = "How do I turn a sundial to the north?"


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The books of the examples."""
    folder = tmp_path_factory.mktemp("sundials")
    settings = settings_for(folder / "books")
    async with open_app(settings, embedder=shared_embedder(settings)) as app:
        for kind in ("mkdocs", "mdbook", "docusaurus"):
            await ingested(app, EXAMPLES / kind, book_id=f"sundial-{kind}")
    async with served(settings_for(folder / "data", cors_origins=(SITE,)), folder / "books") as service:
        yield service


def html_site(target: Path) -> Path:
    return EXAMPLES / "html"


def mkdocs_site(target: Path) -> Path:
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--quiet", "--site-dir", str(target)]
    subprocess.run(command, cwd=EXAMPLES / "mkdocs", check=True, timeout=120)
    return target


def mdbook_site(target: Path) -> Path:
    program = shutil.which("mdbook") or shutil.which("mdbook", path=TOOLS / "mdbook" / "bin")
    if program is None:
        pytest.skip("mdBook is not installed: make recipes")
    subprocess.run([program, "build", "--dest-dir", str(target)], cwd=EXAMPLES / "mdbook", check=True, timeout=120)
    return target


def docusaurus_site(target: Path) -> Path:
    site = TOOLS / "docusaurus"
    if not (site / "node_modules").is_dir():
        pytest.skip("Docusaurus is not installed: make recipes")
    subprocess.run(["cp", "-R", f"{EXAMPLES / 'docusaurus'}/.", str(site)], check=True, timeout=60)
    command = ["node_modules/.bin/docusaurus", "build", "--out-dir", str(target)]
    subprocess.run(command, cwd=site, check=True, timeout=600)
    return target


async def fulfil(root: Path, route: Route) -> None:
    """Serves a folder as the site of the example."""
    path = root / route.request.url.removeprefix(SITE).partition("?")[0].partition("#")[0].lstrip("/")
    for file in (path, path / "index.html", path.with_name(f"{path.name}.html")):
        if file.is_file():
            return await route.fulfill(path=file)
    return await route.fulfill(status=404)


async def forward(service: Served, route: Route) -> None:
    await route.continue_(url=service.url + route.request.url.removeprefix(SERVICE))


@pytest.mark.parametrize("build", [html_site, mkdocs_site, mdbook_site, docusaurus_site])
async def test_the_example_answers_and_its_citation_opens_the_page(
    page: Page, service: Served, tmp_path: Path, build: Callable[[Path], Path]
) -> None:
    root = build(tmp_path / "site")
    await page.context.grant_permissions(["local-network-access"])
    await page.route(f"{SITE}/**", partial(fulfil, root))
    await page.route(f"{SERVICE}/**", partial(forward, service))
    await page.goto(f"{SITE}/")
    await page.get_by_role("button", name="Ask the book").click()
    await page.get_by_role("textbox", name="Your question").fill(QUESTION)
    await page.keyboard.press("Enter")
    await expect(page.locator(".bw-answer")).to_contain_text("when shadows are shortest")
    await page.locator(".bw-chip").first.click()
    await page.get_by_role("link", name="Open in the book").click()
    await page.wait_for_url(re.compile(f"{SITE}/setting-up.*#"))
    await expect(page.get_by_role("heading", name="Turn it to the north").first).to_be_visible()
    await expect(page.locator(".bw-answer")).to_contain_text("when shadows are shortest")
