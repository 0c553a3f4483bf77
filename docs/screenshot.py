"""The sample book, served and asked → pictures of the chat page.

python -m docs.screenshot                    the pictures of the README
python -m docs.screenshot --states FOLDER    each state, wide and narrow, light and dark
"""

import argparse
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import anyio
from playwright.async_api import Browser, Page, Route, ViewportSize, async_playwright
from tests.support.apps import SAMPLE_BOOK
from tests.support.serve_process import PROGRAM, environment, serving

PICTURES = Path(__file__).parent / "images"
ANSWERED, REFUSED = "How do I create a workspace?", "How do I bake bread?"  #: those of the transcript in the README
WIDE, NARROW = ViewportSize(width=1280, height=860), ViewportSize(width=390, height=844)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def ask(page: Page, question: str) -> None:
    """Asks, and waits until the answer can be rated: then it is complete."""
    count = await page.locator(".bw-tools").count()
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await page.locator(".bw-tools").nth(count).wait_for()


async def empty(page: Page) -> None:
    await page.locator(".bw-starters button").first.wait_for()


async def answer(page: Page) -> None:
    await ask(page, ANSWERED)


async def table(page: Page) -> None:
    await ask(page, "What is the difference between a topic and a service?")


async def citation(page: Page) -> None:
    await ask(page, ANSWERED)
    await page.locator(".bw-chip").first.click()
    await page.locator(".bw-panel mark").first.wait_for()


async def refusal(page: Page) -> None:
    await ask(page, REFUSED)
    await ask(page, "Wie erstelle ich einen Arbeitsbereich und warum?")


async def doubt(page: Page) -> None:
    await ask(page, "Which battery lasts longest in a walking robot?")


async def rating(page: Page) -> None:
    await ask(page, ANSWERED)
    await page.get_by_role("button", name="Not helpful").click()
    await page.locator(".bw-reasons").scroll_into_view_if_needed()


async def conversations(page: Page) -> None:
    await ask(page, ANSWERED)
    await page.get_by_role("button", name="New", exact=True).click()
    await ask(page, "What is a node?")
    if await page.locator(".bw-menu").is_visible():
        await page.locator(".bw-menu").click()


async def too_long(page: Page) -> None:
    await page.get_by_label("Your question").fill("Why does my robot fall over? " * 40)


async def lost(page: Page) -> None:
    await page.locator(".bw-starters button").first.wait_for()
    await page.context.set_offline(True)
    await page.get_by_label("Your question").fill(ANSWERED)
    await page.keyboard.press("Enter")
    await page.get_by_role("alert").wait_for()


async def searching(page: Page) -> None:
    async def wait(route: Route) -> None:
        await anyio.sleep(60)

    await page.route("**/chat/stream", wait)
    await page.get_by_label("Your question").fill(ANSWERED)
    await page.keyboard.press("Enter")
    await page.locator(".bw-progress").wait_for()


async def key(page: Page) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=401, json={"detail": "No key.", "status": 401})

    await page.route("**/books", refuse)
    await page.reload()
    await page.get_by_label("API key").wait_for()


async def wrong_key(page: Page) -> None:
    await key(page)
    await page.get_by_label("API key").fill("bw_wrong")
    await page.keyboard.press("Enter")
    await page.get_by_role("alert").wait_for()


async def lesson(page: Page) -> None:
    await citation(page)
    await page.goto(str(await page.locator(".bw-panel-links a").last.get_attribute("href")))
    await page.locator("mark").first.wait_for()


STATES: tuple[Callable[[Page], Awaitable[None]], ...] = (
    empty,
    searching,
    answer,
    table,
    citation,
    refusal,
    doubt,
    rating,
    conversations,
    too_long,
    lost,
    key,
    wrong_key,
    lesson,
)


async def photograph(browser: Browser, url: str, state: Callable[[Page], Awaitable[None]], target: Path) -> None:
    """Brings a new page into the state. The name of the picture says its size and colours."""
    width = NARROW if "narrow" in target.name else WIDE
    scheme = SCHEMES["dark" in target.name]
    async with await browser.new_context(viewport=width, color_scheme=scheme, reduced_motion="reduce") as context:
        page = await context.new_page()
        await page.goto(url)
        await state(page)
        await page.screenshot(path=target)


async def photograph_states(browser: Browser, url: str, folder: Path) -> None:
    for state in STATES:
        for size in ("wide", "narrow"):
            for scheme in SCHEMES:
                await photograph(browser, url, state, folder / f"{state.__name__}-{size}-{scheme}.png")


async def main(states: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        await anyio.run_process([PROGRAM, "ingest", str(SAMPLE_BOOK)], env=environment(data))
        async with serving(data) as service, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            if states:
                await photograph_states(browser, service.url, states)
            else:
                await photograph(browser, service.url, citation, PICTURES / "page.png")
                await photograph(browser, service.url, answer, PICTURES / "page-narrow-dark.png")
            await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=Path, default=None, help="folder for pictures of every state")
    folder = parser.parse_args().states
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    anyio.run(main, folder)
