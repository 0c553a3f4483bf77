"""House rules that review would otherwise have to repeat."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from bookwise.cli.exit_codes import BUG, exit_code
from bookwise.domain import errors
from bookwise.domain.errors import BadLesson, BookwiseError, ModelUnavailable
from tests.architecture.source_code import (
    MODULES,
    ROOT,
    SOURCE,
    classes,
    defined_names,
    functions,
    imported_modules,
    late_imports,
    name_of,
    tree_of,
)

CORE = [path for part in ("domain", "ingestion", "retrieval", "answering") for path in (SOURCE / part).rglob("*.py")]
FORBIDDEN_PREFIXES = ("get_", "handle_", "process_", "do_", "manage_")
CORE_WORDS = {"article": "lesson", "corpus": "book", "snippet": "passage", "tenant": "book"}
PLAIN_WORDS = {
    "border": "middleware",
    "errand": "operation",
    "held": "lock, or what is locked",
    "lean": "followup",
    "leaning": "references",
    "leans": "is_followup",
    "made": "a noun for the result",
    "mend": "repair",
    "noted": "a noun for the record",
    "noting": "answer_log",
    "patience": "timeouts",
    "pen": "writer_config",
    "said": "text, or delta",
    "shelf": "catalog",
    "shelved": "a noun for the books",
    "spelt": "spelling",
    "strange": "unknown",
    "stranger": "anonymous, or unknown",
    "told": "summary, or result",
    "trouble": "retry_reason",
}
LIBRARY_NAMES = {"connection_made"}  #: methods of a base class that we override
TOOL_DIRECTIVE = re.compile(r"noqa(: *[A-Z0-9, ]+\b)?|type: ignore(\[[a-z-]+\])?")
LONGEST_FUNCTION = 60
LONGEST_FILE = 400
MOST_LATE_IMPORTS = 45
CLI_MODULE_THAT_SERVES = "cli/serve.py"


def descendants(kind: type[BookwiseError]) -> list[type[BookwiseError]]:
    return [error for child in kind.__subclasses__() for error in (child, *descendants(child))]


def words_of(identifier: str) -> set[str]:
    """The words of a name in lower case, plurals as singulars too: `_TextDeltas` → text, deltas, delta."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", identifier)}
    return words | {word.removesuffix("s") for word in words}


def report(why: str, places: Iterable[str]) -> str:
    """The reason for a rule, then every place that breaks it."""
    return "\n  ".join([why, *sorted(places)])


def has_reason(lines: list[str], statement: ast.stmt) -> bool:
    """Whether a comment for people ends the statement. A directive for a tool alone is no reason."""
    spanned = " ".join(lines[statement.lineno - 1 : statement.end_lineno])
    comment = spanned.partition("#")[2]
    return bool(TOOL_DIRECTIVE.sub("", comment).strip(" #-"))


def late_imports_without_reason(path: Path) -> list[str]:
    """A reason also covers the imports that follow on the very next lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    covered_line, without = 0, []
    for statement in late_imports(path):
        if has_reason(lines, statement) or statement.lineno == covered_line:
            covered_line = (statement.end_lineno or statement.lineno) + 1
        else:
            without.append(f"{name_of(path)}:{statement.lineno}")
    return without


def test_functions_and_files_stay_small_enough_to_read() -> None:
    long = [
        f"{name_of(path)}:{function.lineno} {function.name}"
        for path in MODULES
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno > LONGEST_FUNCTION
    ]
    assert long == []
    lengths = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_the_core_uses_one_word_per_idea() -> None:
    wrong = {
        f"{name_of(path)}: {function.name}"
        for path in CORE
        for function in functions(path)
        if function.name.startswith(FORBIDDEN_PREFIXES)
        or any(word in re.split(r"_+", function.name) for word in CORE_WORDS)
    }
    assert wrong == set(), f"use instead: {CORE_WORDS}; name functions for what they return"


def test_identifiers_use_the_words_that_engineers_know() -> None:
    wrong = {
        f"{name_of(path)}: {name} ({word} → {PLAIN_WORDS[word]})"
        for path in MODULES
        for name in {*defined_names(path), path.stem} - LIBRARY_NAMES
        for word in words_of(name) & PLAIN_WORDS.keys()
    }
    assert not wrong, report("A metaphor or a participle makes the reader guess. Use the common technical word.", wrong)


def test_no_two_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for path in MODULES:
        for definition in classes(path):
            homes[definition.name.lstrip("_")].append(name_of(path))
    shared = [f"{name}: {', '.join(paths)}" for name, paths in homes.items() if len(paths) > 1]
    assert not shared, report("A name in a traceback must lead to one class. Rename all but one of these.", shared)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import openai", False),
        ("import openai  # loads openai: 0.6 s", True),
        ("import openai  # noqa: F401", False),
        ("import openai  # type: ignore[import-untyped]", False),
        ("import openai  # noqa: F401 - loads openai: 0.6 s", True),
        ("import openai  # type: ignore[import-untyped]  # loads openai: 0.6 s", True),
    ],
)
def test_a_reason_is_a_comment_for_people(line: str, expected: bool) -> None:
    (statement,) = ast.parse(line).body
    assert has_reason([line], statement) is expected


def test_an_import_inside_a_function_states_its_reason() -> None:
    without = [place for path in MODULES for place in late_imports_without_reason(path)]
    why = (
        "Imports belong at the top of a module. One inside a function is allowed when it saves measured start-up time: "
        "end the line with the reason, such as `# loads openai: 0.6 s`."
    )
    assert not without, report(why, without)


def test_imports_inside_functions_stay_rare() -> None:
    places = [f"{name_of(path)}:{statement.lineno}" for path in MODULES for statement in late_imports(path)]
    why = (
        f"{len(places)} imports are inside functions, which hides what a module needs. Move the cheap ones to the top."
    )
    assert len(places) <= MOST_LATE_IMPORTS, report(why, places)


def test_commands_do_not_load_the_web_framework() -> None:
    wrong = {
        f"{name_of(path)} imports {module}"
        for path in (SOURCE / "cli").rglob("*.py")
        if name_of(path) != CLI_MODULE_THAT_SERVES
        for module in imported_modules(path)
        if module == "bookwise.api" or module.startswith("bookwise.api.")
    }
    why = (
        "bookwise.api loads FastAPI: half a second for each command. Only serve.py and mcp.py start a server. "
        "Put what commands and routes share into bookwise.operations."
    )
    assert not wrong, report(why, wrong)


def test_every_module_says_what_it_holds() -> None:
    silent = [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))]
    assert silent == []


@pytest.mark.parametrize("kind", descendants(BookwiseError))
def test_every_error_has_an_exit_code_and_a_place_in_the_drawn_tree(kind: type[BookwiseError]) -> None:
    error = kind("", "") if issubclass(kind, BadLesson | ModelUnavailable) else kind("")
    assert exit_code(error) != BUG
    assert kind.__name__ in (errors.__doc__ or "")


def test_no_machine_paths_and_no_registry_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|^--?\w*index|^-f\b|@ ", lock, re.MULTILINE)
    assert "--hash=sha256:" in lock
    assert "torch" not in lock


def test_tests_copy_data_folders_without_their_holes() -> None:
    """`shutil.copytree` writes 350 MB for a data folder that holds 1.5 MB; `copies.copy_folder` does not."""
    allowed = {"tests/support/copies.py", "tests/support/traps.py", "tests/architecture/test_rules.py"}
    calls = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"\b(?:import|shutil\.)\s*copytree\b", path.read_text(encoding="utf-8"))
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


def test_make_installs_nothing_without_a_hash_or_a_version() -> None:
    lines = (SOURCE.parents[1] / "Makefile").read_text(encoding="utf-8").splitlines()
    installs = [line.strip() for line in lines if "pip install" in line]
    assert len(installs) == 4
    safe = (
        "--require-hashes",
        "--no-deps --no-build-isolation -e .",
        "--no-build-isolation ./packages/minilm",
        "uv==$(UV_VERSION)",
    )
    assert [line for line in installs if not any(option in line for option in safe)] == []
    assert [line for line in lines if re.fullmatch(r"UV_VERSION := \d+\.\d+\.\d+", line)] != []
