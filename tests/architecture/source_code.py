"""The sources of Bookwise as syntax trees, for the rules about them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bookwise"
MODULES = sorted(SOURCE.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The path as a message shows it."""
    return str(path.relative_to(SOURCE))


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, Function))


def classes(path: Path) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))


def late_imports(path: Path) -> list[Import]:
    """The imports inside functions, by line."""
    imports = {
        id(node): node for function in functions(path) for node in ast.walk(function) if isinstance(node, Import)
    }
    return sorted(imports.values(), key=lambda node: node.lineno)


def imported_modules(path: Path) -> set[str]:
    """The full names of what a module imports, at its top and inside functions."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def defined_names(path: Path) -> set[str]:
    """The identifiers that a module defines: functions, classes, parameters, variables and attributes."""
    return {name for node in ast.walk(tree_of(path)) if (name := _defined_name(node))}


def _defined_name(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return None
