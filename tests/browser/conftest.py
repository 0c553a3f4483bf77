"""A real browser, where there is one.

It is started once for each file of tests and worker. It cannot live longer: its event loop would still be open in tests
that run one of their own."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright

from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.copies import copy_folder
from tests.support.embedders import shared_embedder
from tests.support.served import Served, served
from tests.support.small_book import settings_for

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  #: the quickest first
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
NO_CHROMIUM = "There is no Chromium: apt-get install chromium-headless-shell"
OPTIONS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000
BREAD = "bread"
#: A second book, without a site of its own.
BREAD_LESSONS = {
    "bookwise.toml": """[book]
id = "bread"
title = "Bread at Home"
[[questions]]
id = "salt"
kind = "answerable"
text = "How much salt goes into the dough?"
lesson = "01-dough.md"
[[questions]]
id = "rocket"
kind = "off-topic"
text = "How do I launch a rocket?"
""",
    "01-dough.md": """# The dough

Ten grams of salt go into the dough for each kilogram of flour. The water is as warm as a hand.

## Kneading

Knead the dough for ten minutes, until it no longer sticks to the table.
""",
    "02-baking.md": "# Baking\n\nBake the bread for forty minutes at 230 degrees. Let it cool before you cut it.\n",
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(small_book: Path) -> AsyncIterator[Browser]:
    """The small book is made before: that runs an event loop too."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NO_CHROMIUM)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        await browser.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty tab in which no script may fail."""
    context = await browser.new_context()
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    yield page
    await context.close()
    assert failed == []


@pytest.fixture(scope="module")
async def two_books(tmp_path_factory: pytest.TempPathFactory, small_book: Path) -> Path:
    """A data folder with the small book and a book without a site."""
    root = tmp_path_factory.mktemp("two-books")
    copy_folder(small_book, root / "data")
    settings = settings_for(root / "data")
    async with open_app(settings, embedder=shared_embedder(settings)) as app:
        await ingested(app, write_book(root / BREAD, BREAD_LESSONS), book_id=BREAD)
    return root / "data"


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory, two_books: Path) -> AsyncIterator[Served]:
    """Both books, served to anyone. Tests share it: each has a browser context of its own."""
    async with served(settings_for(tmp_path_factory.mktemp("site") / "data"), two_books) as site:
        yield site
