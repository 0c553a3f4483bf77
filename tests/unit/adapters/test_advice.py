"""Every error of an adapter says what to do."""

import ast
from collections.abc import Iterator
from pathlib import Path

import bookwise.adapters
from bookwise.domain import errors

ADAPTERS = Path(bookwise.adapters.__file__).parent
ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}


def errors_without_advice(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in ERRORS:
            continue
        if not any(keyword.arg == "advice" for keyword in node.keywords):
            yield f"{path.relative_to(ADAPTERS)}:{node.lineno} {node.func.id}"


def test_every_error_of_an_adapter_says_what_to_do() -> None:
    paths = sorted(ADAPTERS.rglob("*.py"))
    assert paths
    assert [problem for path in paths for problem in errors_without_advice(path)] == []
