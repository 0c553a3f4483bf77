"""axe-core, from the wheel of axe-playwright-python (axe-core: MPL-2.0), run in a page."""

from importlib.resources import files
from typing import Any

from playwright.async_api import Page

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SERIOUS = ("serious", "critical")


async def accessibility_issues(page: Page) -> list[str]:
    """The serious issues that axe finds in the current state of the page, with contrast of WCAG 2.2 AA."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(f"() => {{ {AXE} }}")
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    results: dict[str, Any] = await page.evaluate("options => window.axe.run(document, options)", options)
    return [
        f"{issue['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for issue in results["violations"]
        if issue["impact"] in SERIOUS
        for node in issue["nodes"]
    ]
