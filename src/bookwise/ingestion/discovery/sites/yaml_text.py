"""YAML of a site's configuration → plain values; tags of other programs are passed over, never obeyed."""

from typing import Any

import yaml

from bookwise.domain.errors import BadSource

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 100


class _PlainLoader(yaml.CSafeLoader):
    """The safe loader without merge keys, which can make a small text expand without end."""

    def flatten_mapping(self, table: yaml.MappingNode) -> None:
        table.value = [pair for pair in table.value if pair[0].tag != "tag:yaml.org,2002:merge"]


def _passed_over(loader: yaml.CSafeLoader, suffix: str, value: yaml.Node) -> Any:
    """`!ENV [NAME, usual]` has a usual value; every other foreign tag has none."""
    if suffix == "!ENV" and isinstance(value, yaml.SequenceNode) and len(value.value) > 1:
        usual = value.value[-1]
        return usual.value if isinstance(usual, yaml.ScalarNode) else None
    return None


_PlainLoader.add_multi_constructor("", _passed_over)


def plain_values(text: str) -> Any:
    """The parsed text; `BadSource` says what is wrong with it."""
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
    """Composing is recursive: what is nested too deeply is refused before."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadSource(f"it is nested deeper than {MAX_DEPTH} levels")


def mapping(text: str) -> dict[str, Any]:
    """The top-level keys; empty when there are none or the text cannot be parsed."""
    try:
        found = plain_values(text)
    except BadSource:
        return {}
    return found if isinstance(found, dict) else {}
