"""YAML of a site's configuration → plain values. Tags of other programs are ignored, never executed."""

from typing import Any

import yaml

from bookwise.domain.errors import BadSource

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 100


class _PlainLoader(yaml.CSafeLoader):
    """The safe loader without merge keys, which can expand a small text without limit."""

    def flatten_mapping(self, table: yaml.MappingNode) -> None:
        table.value = [pair for pair in table.value if pair[0].tag != "tag:yaml.org,2002:merge"]


def _construct_foreign_tag(loader: yaml.CSafeLoader, suffix: str, value: yaml.Node) -> Any:
    """The default of `!ENV [NAME, default]`; None for all other foreign tags."""
    if suffix == "!ENV" and isinstance(value, yaml.SequenceNode) and len(value.value) > 1:
        default = value.value[-1]
        return default.value if isinstance(default, yaml.ScalarNode) else None
    return None


_PlainLoader.add_multi_constructor("", _construct_foreign_tag)


def plain_values(text: str) -> Any:
    """The parsed text. Raises `BadSource` with the problem."""
    if len(text) > MAX_CHARACTERS:
        raise BadSource(f"it is longer than {MAX_CHARACTERS:,} characters")
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadSource(f"it is not valid YAML{where}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        raise BadSource(f"it is not valid YAML: {type(error).__name__}") from error


def _check_depth(text: str) -> None:
    """Raises `BadSource` for deep nesting before the recursive parser runs."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadSource(f"it is nested deeper than {MAX_DEPTH} levels")


def mapping(text: str) -> dict[str, Any]:
    """The top-level mapping; empty when there is none or the text cannot be parsed."""
    try:
        values = plain_values(text)
    except BadSource:
        return {}
    return values if isinstance(values, dict) else {}


def inner_mapping(values: Any, key: str) -> dict[str, Any]:
    """The mapping under a key; empty when there is none."""
    inner = values.get(key) if isinstance(values, dict) else None
    return inner if isinstance(inner, dict) else {}
