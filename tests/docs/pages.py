"""The documentation as text: its pages, and the code blocks in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DEMO = ROOT / "examples" / "demo.sh"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVICE_PAGES = sorted((ROOT / "docs" / "service").glob("*.md"))
ALL_PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)  #: a longer fence may contain a shorter one


def code_blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each fenced block of a page; the language is empty where none is named."""
    return [(language, text) for _, language, text in FENCE.findall(page.read_text(encoding="utf-8"))]


def snippets(language: str, pages: list[Path] = PAGES) -> list[str]:
    return [text for page in pages for name, text in code_blocks(page) if name == language]
