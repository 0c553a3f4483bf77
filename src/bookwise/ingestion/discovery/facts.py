"""Front matter → the few keys that ingestion uses, with checked types."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from bookwise.domain.books import HARDWARE_TIERS, LAYERS, PROFICIENCY_LEVELS
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import one_line, slug


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The front matter of a lesson; None for a key that is missing."""

    title: str | None = None
    slug: str | None = None
    id: str | None = None
    sidebar_position: float | None = None  #: sorts the lessons of a folder; it is not a lesson number
    is_draft: bool = False
    is_unlisted: bool = False
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    hardware_tier: int | None = None
    proficiency_level: str | None = None
    layer: str | None = None


NO_FACTS = Facts()


def facts_from(front_matter: Mapping[str, object]) -> Facts:
    """Reads the known keys and ignores all others. Raises `BadLesson` for a value that is not allowed."""
    return Facts(
        title=_line(front_matter.get("title")),
        slug=_line(front_matter.get("slug")),
        id=_line(front_matter.get("id")),
        sidebar_position=_position(front_matter.get("sidebar_position")),
        is_draft=front_matter.get("draft") is True,
        is_unlisted=front_matter.get("unlisted") is True,
        module=_module(front_matter.get("module")),
        chapter=_whole_number(front_matter.get("chapter")),
        lesson=_whole_number(front_matter.get("lesson")),
        hardware_tier=_tier(front_matter.get("hardware_tier")),
        proficiency_level=_choice(front_matter, "proficiency_level", PROFICIENCY_LEVELS),
        layer=_choice(front_matter, "layer", LAYERS),
    )


def _line(value: object) -> str | None:
    if isinstance(value, date):
        value = value.isoformat()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return one_line(value) or None


def _position(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        position = float(value)
    except OverflowError:
        return None
    return position if math.isfinite(position) else None


def _whole_number(value: object) -> int | None:
    """The value as an integer; None for anything else, such as a chapter name ("Basics")."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value.strip()[:18])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _module(value: object) -> str | None:
    number = _whole_number(value)
    if number is not None:
        return f"module-{number}"
    text = one_line(value)
    return slug(text) if text else None


def _tier(value: object) -> int | None:
    if value is None:
        return None
    number = _whole_number(value)
    if number not in HARDWARE_TIERS:
        raise _not_allowed("hardware_tier", value, HARDWARE_TIERS)
    return number


def _choice(front_matter: Mapping[str, object], key: str, allowed: tuple[str, ...]) -> str | None:
    value = front_matter.get(key)
    if value is None:
        return None
    choice = value.strip().upper() if isinstance(value, str) else value
    if not isinstance(choice, str) or choice not in allowed:
        raise _not_allowed(key, value, allowed)
    return choice


def _not_allowed(key: str, value: object, allowed: tuple[object, ...]) -> BadLesson:
    # With YAML aliases, the value may be far larger than it looks: only scalars are shown.
    text = f"{value!r:.40}" if isinstance(value, str | int | float | date) else f"a {type(value).__name__}"
    return BadLesson(
        "front-matter",
        f"{key} is {text}; allowed: {', '.join(map(str, allowed))}.",
        advice=f"Correct {key} in the front matter of the lesson.",
    )
