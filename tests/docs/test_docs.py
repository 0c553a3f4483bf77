"""The documentation tells what the code does."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
import typer

from bookwise.cli.main import COMMANDS, program
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.settings import FIELDS, env_name
from tests.support.small_books import shelve

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
SERVICE_PAGES = [*(ROOT / "docs" / "service").glob("*.md")]  #: their programs run in test_service_examples
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_LINE = re.compile(r"^(?:\$ |\.venv/bin/)?bookwise (.+)$", re.MULTILINE)


def snippets(language: str, pages: list[Path] = PAGES) -> list[str]:
    found = [FENCE.findall(page.read_text(encoding="utf-8")) for page in pages]
    return [text for page in found for named, text in page if named == language]


COMMAND_LINES = [line for text in snippets("", PAGES + SERVICE_PAGES) for line in COMMAND_LINE.findall(text)]


def test_the_reference_pages_are_those_the_code_writes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.reference", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_setting_and_command_is_documented() -> None:
    settings = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert [field for field in FIELDS if env_name(field) not in settings] == []
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


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_command_line_that_is_shown_is_one_the_program_takes(line: str) -> None:
    words = shlex.split(line, comments=True)
    shown = typer.main.get_command(program(words))
    name, *rest = words
    shown.commands[name].make_context(name, rest)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", snippets("toml"))
def test_a_profile_that_is_shown_is_one_a_book_may_have(text: str) -> None:
    assert BookProfile.model_validate(tomllib.loads(text)).questions


@pytest.mark.slow
@pytest.mark.parametrize("text", snippets("python"))
def test_a_program_that_is_shown_answers_from_the_book(text: str, tmp_path: Path) -> None:
    node = "# Nodes\n\nA node is one unit of computation with a name of its own.\n"
    python = "# Nodes in Python\n\nA node in Python is a class of its own.\n"
    anyio.run(lambda: shelve(tmp_path / ".bookwise", tmp_path / "book", nodes=node, python=python))
    environment = {"BOOKWISE_EMBEDDER": "hashing", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
