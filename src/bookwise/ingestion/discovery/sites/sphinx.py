"""A Sphinx project → its site."""

import ast
import warnings

from bookwise.ingestion.discovery.names import one_line
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Site, base_address, html_route
from bookwise.ingestion.discovery.walk import Tree

CONFIG = "conf.py"


def sphinx_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """All lessons by path. `conf.py` is parsed, never executed."""
    problems = []
    try:
        facts = _literal_assignments(tree.text(folder + CONFIG))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        facts = {}
        problems.append(f"{folder}{CONFIG} was ignored: {type(error).__name__}.")
    patterns = facts.get("exclude_patterns")
    return Site(
        kind="sphinx",
        docs=f"{profile.book.docs}/" if profile.book.docs else folder,
        title=one_line(facts.get("html_title")) or one_line(facts.get("project")),
        base_url=base_address(one_line(facts.get("html_baseurl"))),
        route=html_route,
        hides_underscored=True,
        excluded=tuple(p for p in patterns if isinstance(p, str)) if isinstance(patterns, list) else (),
        warnings=tuple(problems),
    )


def _literal_assignments(source: str) -> dict[str, object]:
    """Top-level names with a literal value; the last assignment counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about invalid escapes in the book's code do not matter here
        statements = ast.parse(source).body
    values: dict[str, object] = {}
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                values[statement.targets[0].id] = ast.literal_eval(statement.value)
            except (ValueError, TypeError):
                continue
    return values
