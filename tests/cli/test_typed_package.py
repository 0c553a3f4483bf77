"""A small program that uses Bookwise, checked by mypy as its author would."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CACHE = Path(__file__).parents[2] / ".mypy_cache" / "program"  #: checking Bookwise without one takes 15 s
PROGRAM = """
import bookwise


async def first_quote(question: str) -> str:
    response = await bookwise.ask_async(question)
    return next((citation.quote for citation in response.citations), response.answer)


def outcome(question: str) -> str:
    reveal_type(bookwise.ask(question))
    return bookwise.ask(question).outcome
"""


def check(folder: Path, text: str) -> str:
    """What mypy --strict reports for a program, without the settings of this repository."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--cache-dir", str(CACHE)]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return result.stdout


def test_the_public_functions_are_typed_for_programs_that_use_them(tmp_path: Path) -> None:
    shown = check(tmp_path, f"{PROGRAM}\n\nnumber: int = bookwise.ask('What is a node?').answer\n")
    assert "import-untyped" not in shown
    assert 'Revealed type is "bookwise.schemas.' in shown
    assert shown.count("error:") == 1, shown
    assert "Incompatible types in assignment" in shown
