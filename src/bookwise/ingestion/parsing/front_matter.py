"""Text of a lesson → the facts in its front matter, and the body after it."""

import tomllib
from collections.abc import Hashable, Iterator

import yaml

from bookwise.domain.errors import BadLesson

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 20
MAX_VALUES = 10_000  #: counted as if every alias were written out

_CLOSERS = {"---": ("---", "..."), "+++": ("+++",)}
_SAFE_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def split_front_matter(text: str) -> tuple[dict[str, object], str, int]:
    """Facts, body, and the number of lines the front matter took.

    Front matter is YAML between `---` lines or TOML between `+++` lines at the very start. Without a
    closing line there is none: the first line is then a thematic break. A key given twice is refused,
    because site generators disagree about which one counts.
    """
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
    """Where the closing line starts, where the body starts, and the closing line's number."""
    start, number = text.find("\n") + 1, 1
    while 0 < start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        if text[start : start + 3] in closers and text[start:end].rstrip() in closers:
            return start, min(end + 1, len(text)), number
        start = end + 1
    return None


def _bad(what: str) -> BadLesson:
    return BadLesson(
        "front-matter",
        f"The front matter {what}.",
        advice="Correct the lines between the first two markers, or remove them.",
    )


def _yaml_facts(source: str) -> dict[str, object]:
    try:
        _check_size(yaml.parse(source, Loader=yaml.CSafeLoader))
        facts: object = yaml.load(source, Loader=_Loader)
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
    """Refuses what is small to write and huge to walk: the tree is measured before it is built."""
    sizes: dict[str, int] = {}
    unfinished: list[tuple[str | None, int]] = []
    total = 0
    for event in events:
        match event:
            case yaml.AliasEvent():
                total += _alias_size(event, sizes)
            case yaml.CollectionStartEvent():
                unfinished.append((event.anchor, total))
                total += 1
            case yaml.ScalarEvent():
                sizes[event.anchor or ""] = 1
                total += 1
            case yaml.CollectionEndEvent():
                anchor, before = unfinished.pop()
                sizes[anchor or ""] = total - before
        _check_tag(event)
        if len(unfinished) > MAX_DEPTH:
            raise _bad(f"is nested deeper than {MAX_DEPTH} levels")
        if total > MAX_VALUES:
            raise _bad(f"holds more than {MAX_VALUES} values once its aliases are written out")


def _alias_size(event: yaml.AliasEvent, sizes: dict[str, int]) -> int:
    if event.anchor not in sizes:
        raise _bad(f"uses the alias *{event.anchor} inside or before its own anchor")
    return sizes[event.anchor]


def _check_tag(event: yaml.Event) -> None:
    tag = getattr(event, "tag", None)
    if tag and tag != "!" and tag not in _SAFE_TAGS:
        raise _bad(f"uses the tag {tag}, which is not allowed")


class _Loader(yaml.CSafeLoader):
    """The safe loader, which also refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise _bad(f"gives the key {key.value!r} twice (line {key.start_mark.line + 2})")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _toml_facts(source: str) -> dict[str, object]:
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _bad(f"is not valid TOML: {error}") from error
