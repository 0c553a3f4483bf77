"""The documentation describes what the code does."""

import importlib
import importlib.util
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
from tests.architecture.source_code import MODULES, SOURCE, defined_names
from tests.docs.pages import ALL_PAGES, FENCE, PAGES, README, ROOT, SERVICE_PAGES, snippets
from tests.support.small_books import shelve

COMMAND_LINE = re.compile(r"^(?:\$ |\.venv/bin/)?bookwise (.+)$", re.MULTILINE)
COMMAND_LINES = [
    line
    for language in ("", "console")
    for text in snippets(language, PAGES + SERVICE_PAGES)
    for line in COMMAND_LINE.findall(text)
]
FOREIGN_FILES = {"conf.py"}  #: Sphinx's
MODULE_FILE = re.compile(r"[\w./-]+\.py\b")
DOTTED_NAME = re.compile(r"\bbookwise(?:\.[a-z_]+){2,}\b")
PACKAGE = re.compile(r"`((?:[a-z_]+/)+)`")
LINK = re.compile(r"\]\(([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CITED_PAGE = re.compile(r"\bdocs/((?:[a-z]+/)*[a-z0-9]+)(?:\.md)?\b(?:, \"?([A-Z][a-z -]+[a-z]))?")
GLOSSARY_WORD = re.compile(r"^\| \*\*(\w+)\*\* \|", re.MULTILINE)


def exists(path: str) -> bool:
    """Whether a path in a page is a file of the repository or of the package; a bare name may be anywhere in it."""
    package = path.removeprefix("src/").removeprefix("bookwise/")
    if "/" not in package:
        return any(SOURCE.rglob(package)) or any((ROOT / "docs").glob(package))
    return (ROOT / path).exists() or (SOURCE / package).exists()


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether the file is there, and in a page the heading too."""
    name, _, anchor = target.partition("#")
    linked = page.parent / name if name else page
    return linked.exists() and (not anchor or anchor in anchors(linked))


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_importable(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in one."""
    path = SOURCE.parent.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    module, _, member = name.rpartition(".")
    return importlib.util.find_spec(module) is not None and hasattr(importlib.import_module(module), member)


def words_in_the_code() -> set[str]:
    names = {name for path in MODULES for name in defined_names(path)}
    return {word.lower() for name in names for word in (name, *re.findall(r"[A-Z]?[a-z]+", name))}


def test_the_reference_pages_are_generated_from_this_code() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "docs.reference", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stderr


def test_every_setting_and_command_is_documented() -> None:
    settings = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert [field for field in FIELDS if env_name(field) not in settings] == []
    assert [name for name in COMMANDS if f"## bookwise {name}" not in commands] == []


def test_the_readme_shows_both_commands_at_the_top() -> None:
    top = README.read_text(encoding="utf-8")[:1500]
    assert "make demo" in top
    assert "make test" in top


def test_links_between_pages_lead_to_a_file_and_a_heading() -> None:
    broken = [
        f"{page.relative_to(ROOT)} → {target}"
        for page in ALL_PAGES
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not leads_somewhere(page, target)
    ]
    assert broken == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = set(MODULE_FILE.findall(text)) - FOREIGN_FILES
    assert {path for path in files if not exists(path)} == set(), "Update the page to the new names."
    assert [name for name in DOTTED_NAME.findall(text) if not is_importable(name)] == []


def cited_pages(path: Path) -> list[tuple[str, str]]:
    """(page, heading or empty) of each page that a comment or docstring cites, also across a line break."""
    text = re.sub(r"\n\s*(?:#:? ?)?", " ", path.read_text(encoding="utf-8"))
    return CITED_PAGE.findall(text)


def is_page(name: str, heading: str) -> bool:
    """Whether the page exists, a decision by its number, and has the heading."""
    found = [page for page in (ROOT / "docs").rglob("*.md") if str(page.relative_to(ROOT / "docs")).startswith(name)]
    return any(not heading or heading.lower().replace(" ", "-") in anchors(page) for page in found)


def test_every_page_and_heading_that_the_code_cites_exists() -> None:
    sources = [path for folder in (SOURCE, ROOT / "benchmarks") for path in folder.rglob("*.py")]
    cited = [(path, page, heading) for path in sources for page, heading in cited_pages(path)]
    assert len(cited) > 20
    broken = [f"{path.name} → docs/{page} {heading}" for path, page, heading in cited if not is_page(page, heading)]
    assert broken == []


DATA_FOLDERS = ("sites", "damaged")  #: parts of the data folder, not of the program


def test_the_architecture_page_names_every_package_and_no_other() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    shown = {path for path in PACKAGE.findall(text) if path.split("/")[0] not in DATA_FOLDERS}
    assert {path for path in shown if not exists(path)} == set()
    packages = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert packages - shown == set(), "Add each new package to the tree in docs/architecture.md."


def test_the_drawn_layers_are_those_that_are_enforced() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"]
    drawing = next(text for text in snippets("", [ROOT / "docs/architecture.md"]) if "evaluation" in text)
    assert [" ".join(line.split()) for line in drawing.splitlines()] == [" ".join(layer.split()) for layer in layers]


def test_every_word_of_the_glossary_is_used_in_the_code() -> None:
    words = GLOSSARY_WORD.findall((ROOT / "docs/glossary.md").read_text(encoding="utf-8"))
    assert 15 <= len(words) <= 30, "The glossary explains the words that are special to Bookwise, and only those."
    used = words_in_the_code()
    assert [word for word in words if word.lower() not in used] == [], "The code has another word: use that one."


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_the_program_accepts_every_command_line_in_the_docs(line: str) -> None:
    words = shlex.split(line, comments=True)
    group = typer.main.get_command(program(words))
    name, *rest = words
    group.commands[name].make_context(name, rest)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", snippets("toml"))
def test_every_profile_in_the_docs_is_valid(text: str) -> None:
    assert BookProfile.model_validate(tomllib.loads(text)).questions


@pytest.mark.slow
@pytest.mark.parametrize("text", snippets("python"))
def test_every_python_example_answers_from_the_book(text: str, tmp_path: Path) -> None:
    node = "# Nodes\n\nA node is one unit of computation with a name of its own.\n"
    python = "# Nodes in Python\n\nA node in Python is a class of its own.\n"
    anyio.run(lambda: shelve(tmp_path / ".bookwise", tmp_path / "book", nodes=node, python=python))
    environment = {"BOOKWISE_EMBEDDER": "hashing", "HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_pictures_load_quickly() -> None:
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs/images").iterdir()}
    assert {name: size for name, size in sizes.items() if size > 200_000} == {}
