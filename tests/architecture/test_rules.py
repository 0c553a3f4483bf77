"""House rules that review would otherwise have to repeat."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookwise.cli.exit_codes import BUG, exit_code
from bookwise.domain import errors
from bookwise.domain.errors import BadLesson, BookwiseError, ModelUnavailable

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bookwise"
CORE = [path for part in ("domain", "ingestion", "retrieval", "answering") for path in (SOURCE / part).rglob("*.py")]
FORBIDDEN_PREFIXES = ("get_", "handle_", "process_", "do_", "manage_")
FORBIDDEN_WORDS = {"article": "lesson", "corpus": "book", "snippet": "passage", "tenant": "book"}
LONGEST_FUNCTION = 60
LONGEST_FILE = 400


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def descendants(kind: type[BookwiseError]) -> list[type[BookwiseError]]:
    return [found for child in kind.__subclasses__() for found in (child, *descendants(child))]


def test_functions_and_files_stay_small_enough_to_read() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in SOURCE.rglob("*.py")
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno > LONGEST_FUNCTION
    ]
    assert long == []
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_the_core_says_one_word_per_idea() -> None:
    wrong = {
        f"{path.relative_to(SOURCE)}: {function.name}"
        for path in CORE
        for function in functions(path)
        if function.name.startswith(FORBIDDEN_PREFIXES)
        or any(word in re.split(r"_+", function.name) for word in FORBIDDEN_WORDS)
    }
    assert wrong == set(), f"say instead: {FORBIDDEN_WORDS}; name functions for what they return"


def test_every_module_says_what_it_turns_into_what() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


@pytest.mark.parametrize("kind", descendants(BookwiseError))
def test_every_error_has_an_exit_code_and_a_place_in_the_drawn_tree(kind: type[BookwiseError]) -> None:
    error = kind("", "") if issubclass(kind, BadLesson | ModelUnavailable) else kind("")
    assert exit_code(error) != BUG
    assert kind.__name__ in (errors.__doc__ or "")


def test_no_machine_paths_and_no_registry_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"://|^--?\w*index|^-f\b|@ ", lock, re.MULTILINE)
    assert "--hash=sha256:" in lock
    assert "torch" not in lock


def test_tests_copy_data_folders_without_their_holes() -> None:
    """`shutil.copytree` writes 350 MB for a data folder that holds 1.5 MB; `copies.copy_folder` does not."""
    allowed = {"tests/support/copies.py", "tests/support/traps.py"}
    calls = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name | ast.alias)
        and "copytree" in ast.dump(node, annotate_fields=False)
    }
    assert calls <= allowed


def test_tests_of_a_service_share_one_embedding_model() -> None:
    """`create_app` without an embedder loads the model anew, which takes longer than most tests."""
    builders = {
        str(path.relative_to(ROOT)): ast.unparse(call)
        for path in (ROOT / "tests" / "support").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "create_app"
    }
    assert builders
    assert [name for name, call in builders.items() if "embedder=" not in call] == []
