"""Text of a lesson → its front matter and its body."""

import json
import tomllib
from collections.abc import Hashable, Iterator

import yaml

from bookwise.domain.errors import BadLesson

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 20
MAX_VALUES = 10_000  #: counted with all aliases expanded

_CLOSERS = {"---": ("---", "..."), "+++": ("+++",)}
_SAFE_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def split_front_matter(text: str) -> tuple[dict[str, object], str, int]:
    """The front matter, the body, and the number of lines of the front matter. Raises `BadLesson`.

    Front matter is YAML between `---` lines, TOML between `+++` lines, or a JSON object, at the very start. Without a
    closing line there is none, and the first line is a thematic break. A duplicate key in YAML is an error, because
    site generators disagree about which value counts.
    """
    if text.startswith("{"):
        return _json_facts(text)
    marker = _marker(text)
    closing = _closing_line(text, _CLOSERS[marker]) if marker else None
    if closing is None:
        return {}, text, 0
    start, end, lines = closing
    source = text[text.index("\n") + 1 : start]
    if len(source) > MAX_CHARACTERS:
        raise _bad(f"is longer than {MAX_CHARACTERS} characters")
    facts = _yaml_facts(source) if marker == "---" else _toml_facts(source)
    return facts, text[end:], lines


def _marker(text: str) -> str:
    end = text.find("\n")
    first = text[: end if end >= 0 else len(text)].rstrip() if text[:3] in _CLOSERS else ""
    return first if first in _CLOSERS else ""


def _closing_line(text: str, closers: tuple[str, ...]) -> tuple[int, int, int] | None:
    """The start of the closing line, the start of the body, and the number of the closing line."""
    start, number = text.find("\n") + 1, 1
    while 0 < start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        if text[start : start + 3] in closers and text[start:end].rstrip() in closers:
            return start, min(end + 1, len(text)), number
        start = end + 1
    return None


def _bad(problem: str) -> BadLesson:
    return BadLesson(
        "front-matter",
        f"The front matter {problem}.",
        advice="Correct the lines between the first two markers, or remove them.",
    )


def _yaml_facts(source: str) -> dict[str, object]:
    try:
        _check_size(yaml.parse(source, Loader=yaml.CSafeLoader))
        facts: object = yaml.load(source, Loader=_UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 2})" if error.problem_mark else ""
        raise _bad(f"is not valid YAML: {error.problem or error.context}{where}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _bad(f"is not valid YAML: {error}") from error
    if facts is None:
        return {}
    if not isinstance(facts, dict):
        raise _bad(f"is a {type(facts).__name__}, not a list of `key: value` lines")
    return {str(key): value for key, value in facts.items()}


def _check_size(events: Iterator[yaml.Event]) -> None:
    """Raises `BadLesson` for a small text that expands to a huge value. The size is computed before building it."""
    sizes: dict[str, int] = {}
    open_collections: list[tuple[str | None, int]] = []
    total = 0
    for event in events:
        match event:
            case yaml.AliasEvent():
                total += _alias_size(event, sizes)
            case yaml.CollectionStartEvent():
                open_collections.append((event.anchor, total))
                total += 1
            case yaml.ScalarEvent():
                sizes[event.anchor or ""] = 1
                total += 1
            case yaml.CollectionEndEvent():
                anchor, before = open_collections.pop()
                sizes[anchor or ""] = total - before
        _check_tag(event)
        if len(open_collections) > MAX_DEPTH:
            raise _bad(f"is nested deeper than {MAX_DEPTH} levels")
        if total > MAX_VALUES:
            raise _bad(f"has more than {MAX_VALUES} values when its aliases are expanded")


def _alias_size(event: yaml.AliasEvent, sizes: dict[str, int]) -> int:
    if event.anchor not in sizes:
        raise _bad(f"uses the alias *{event.anchor} inside or before its own anchor")
    return sizes[event.anchor]


def _check_tag(event: yaml.Event) -> None:
    tag = getattr(event, "tag", None)
    if tag and tag != "!" and tag not in _SAFE_TAGS:
        raise _bad(f"uses the tag {tag}, which is not allowed")


class _UniqueKeyLoader(yaml.CSafeLoader):
    """The safe loader, which also rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise _bad(f"has the key {key.value!r} twice (line {key.start_mark.line + 2})")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _toml_facts(source: str) -> dict[str, object]:
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _bad(f"is not valid TOML: {error}") from error


def _json_facts(text: str) -> tuple[dict[str, object], str, int]:
    """A JSON object that ends its line (Hugo). Anything else that starts with a brace is text."""
    try:
        facts, end = json.JSONDecoder().raw_decode(text[:MAX_CHARACTERS])
    except (ValueError, RecursionError):
        return {}, text, 0
    rest, newline, body = text[end:].partition("\n")
    if not isinstance(facts, dict) or not facts or rest.strip():
        return {}, text, 0
    return facts, body, text.count("\n", 0, end) + len(newline)
