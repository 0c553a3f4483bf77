"""The sample book, served and asked → pictures of the chat page, the widget and the author's view.

python -m docs.screenshot                            the pictures of the README
python -m docs.screenshot --states FOLDER [NAME …]   each state, wide and narrow, light and dark; or only these states

A state that cannot be reached or has a serious accessibility issue is reported, and makes the program fail.
"""

import argparse
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import httpx2
from playwright.async_api import Browser, ViewportSize, async_playwright
from playwright.async_api import Error as PlaywrightError
from tests.browser.axe import accessibility_issues
from tests.browser.conftest import BREAD_LESSONS, CHROMIUM
from tests.support.apps import SAMPLE_BOOK, write_book
from tests.support.program import PROGRAM, environment
from tests.support.serve_process import serving

from bookwise.settings import Settings
from bookwise.wiring import open_app
from docs.states import REFUSED, SITE, STATES, Scene, State, answer, citation, fill_journal

PICTURES = Path(__file__).parent / "images"
WIDE, NARROW = ViewportSize(width=1280, height=860), ViewportSize(width=390, height=844)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WITHOUT_ITS_CODE = "# The oven\n\nThis program watches the oven:\n\n{{#include oven.py}}\n"
SHAPES = tuple(f"{size}-{scheme}" for size in ("wide", "narrow") for scheme in SCHEMES)


async def photograph(browser: Browser, services: dict[str, str], state: State, target: Path) -> list[str]:
    """Brings a new tab into the state; returns its accessibility issues. The name says the size and colours."""
    width = NARROW if "narrow" in target.name else WIDE
    scheme = SCHEMES["dark" in target.name]
    async with await browser.new_context(viewport=width, color_scheme=scheme, reduced_motion="reduce") as context:
        page = await context.new_page()
        await state(Scene(page=page, **services))
        await page.screenshot(path=target)
        return [f"{target.stem}: {issue}" for issue in await accessibility_issues(page)]


async def run_program(data: Path, *arguments: str) -> str:
    return (await anyio.run_process([PROGRAM, *arguments], env=environment(data))).stdout.decode()


@asynccontextmanager
async def two_services(folder: Path, *books: Path) -> AsyncIterator[dict[str, str]]:
    """The books: for anyone, and with keys and a month of questions."""
    data, keyed = folder / "data", folder / "keyed"
    for book in books:
        await run_program(data, "ingest", str(book))
    shutil.copytree(data, keyed)
    async with open_app(Settings(data_dir=keyed)) as app:
        await fill_journal(app)
    admin = await run_program(keyed, "keys", "create", "author", "--role", "admin", "--rate", "10000")
    reader = await run_program(keyed, "keys", "create", "book site", "--origin", SITE, "--rate", "10000")
    keys = {"admin": admin.split()[-1], "reader": reader.split()[-1]}
    async with serving(data) as service, serving(keyed) as with_keys:
        headers = {"Authorization": f"Bearer {keys['admin']}"}
        async with httpx2.AsyncClient(base_url=with_keys.url, headers=headers, timeout=60) as client:
            body = {"message": REFUSED, "book_id": "physical-ai-robotics"}
            (await client.post("/chat/run", json=body)).raise_for_status()
        yield {"url": service.url, "keyed_url": with_keys.url, **keys}


async def photograph_states(
    browser: Browser, services: dict[str, str], folder: Path, names: Sequence[str]
) -> list[str]:
    issues = []
    for state in [state for state in STATES if not names or state.__name__ in names]:
        for shape in SHAPES:
            try:
                issues += await photograph(browser, services, state, folder / f"{state.__name__}-{shape}.png")
            except PlaywrightError as error:
                issues.append(f"{state.__name__}-{shape}: {error.message}")
    return issues


async def main(states: Path | None, names: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        bread = write_book(Path(folder) / "bread", BREAD_LESSONS | {"03-oven.md": WITHOUT_ITS_CODE})
        books = (SAMPLE_BOOK, bread) if states else (SAMPLE_BOOK,)
        async with two_services(Path(folder), *books) as services, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            if states:
                issues = await photograph_states(browser, services, states, names)
            else:
                issues = await photograph(browser, services, citation, PICTURES / "page.png")
                issues += await photograph(browser, services, answer, PICTURES / "page-narrow-dark.png")
            await browser.close()
    return issues


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=Path, default=None, help="folder for pictures of every state")
    parser.add_argument("names", nargs="*", help="names of states, for example citation")
    arguments = parser.parse_args()
    if arguments.states:
        arguments.states.mkdir(parents=True, exist_ok=True)
    if found := anyio.run(main, arguments.states, arguments.names):
        raise SystemExit("\n".join(found))
