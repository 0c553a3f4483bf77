"""The sample book, served and asked → docs/images/page.png, the picture in the README.

python -m docs.screenshot
"""

import shutil
import tempfile
from pathlib import Path

import anyio
from playwright.async_api import ViewportSize, async_playwright
from tests.support.apps import SAMPLE_BOOK
from tests.support.serve_process import PROGRAM, environment, serving

PICTURE = Path(__file__).parent / "images" / "page.png"
QUESTIONS = ("How do I create a workspace?", "How do I bake bread?")  #: those of the transcript in the README
SIZE = ViewportSize(width=820, height=880)


async def ingest(data: Path) -> None:
    await anyio.run_process([PROGRAM, "ingest", str(SAMPLE_BOOK)], env=environment(data))


async def photograph(url: str, target: Path) -> None:
    """Asks each question and waits until its answer can be rated: then it is complete."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = await browser.new_page(viewport=SIZE)
        await page.goto(url)
        for number, question in enumerate(QUESTIONS):
            await page.get_by_label("Your question").fill(question)
            await page.keyboard.press("Enter")
            await page.get_by_role("button", name="Not helpful").nth(number).wait_for()
        await page.screenshot(path=target)
        await browser.close()


async def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        await ingest(data)
        async with serving(data) as service:
            await photograph(service.url, PICTURE)


if __name__ == "__main__":
    anyio.run(main)
