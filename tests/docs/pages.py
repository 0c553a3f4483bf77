"""The documentation as text: its pages, and the code blocks in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DEMO = ROOT / "examples" / "demo.sh"
GUIDES = [ROOT / "docs/index.md", ROOT / "docs/tutorial.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *GUIDES[2:]]
SERVICE_PAGES = sorted((ROOT / "docs" / "service").glob("*.md"))
OTHER_PAGES = [page for page in [*PAGES, *SERVICE_PAGES] if page not in GUIDES]
ALL_PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)  #: a longer fence may contain a shorter one


def code_blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each fenced block of a page; the language is empty where none is named."""
    return [(language, text) for _, language, text in FENCE.findall(page.read_text(encoding="utf-8"))]


def introduced_blocks(page: Path) -> list[tuple[str, str, str]]:
    """(line before it, language, text) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(text[: found.start()].rstrip().rpartition("\n")[2], found[2], found[3]) for found in FENCE.finditer(text)]


def shell_lines(text: str) -> list[str]:
    """The commands of a script, one per line: continued lines are joined, comments and output are left out."""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    if any(line.startswith("$ ") for line in lines):
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line and not line.startswith("#")]


def snippets(language: str, pages: list[Path] = PAGES) -> list[str]:
    return [text for page in pages for name, text in code_blocks(page) if name == language]
