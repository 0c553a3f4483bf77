"""The documentation tells what the code does."""

import re
import subprocess
import sys
from pathlib import Path

from bookwise.cli.main import COMMANDS
from bookwise.settings import Settings, env_name

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_reference_pages_are_those_the_code_writes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.reference", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_setting_and_command_is_documented() -> None:
    settings = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert [field for field in Settings.model_fields if env_name(field) not in settings] == []
    assert [name for name in COMMANDS if f"## bookwise {name}" not in commands] == []


def test_the_readme_shows_both_commands_at_the_top() -> None:
    top = README[:1500]
    assert "make demo" in top
    assert "make test" in top


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)} → {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
