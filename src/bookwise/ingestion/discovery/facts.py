"""Front matter → the few keys that ingestion uses, with checked types."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from bookwise.domain.books import HARDWARE_TIERS, LAYERS, PROFICIENCY_LEVELS
from bookwise.ingestion.discovery.names import one_line, slug
from bookwise.ingestion.discovery.profile import NUMBER_MAX


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
    url: str | None = None  #: the whole path of the published page (Hugo)
    weight: float | None = None  #: sorts the lessons of a folder (Hugo)
    published_on: date | None = None
    problems: tuple[str, ...] = ()  #: values that are not allowed and were ignored


NO_FACTS = Facts()


def facts_from(front_matter: Mapping[str, object]) -> Facts:
    """Reads the known keys and ignores all others. A value that is not allowed is a problem, not an error: a lesson is
    worth more than its metadata."""
    problems: list[str] = []
    return Facts(
        title=_line(front_matter.get("title")),
        slug=_line(front_matter.get("slug")),
        id=_line(front_matter.get("id")),
        sidebar_position=_position(front_matter.get("sidebar_position")),
        is_draft=front_matter.get("draft") is True or _is_never_rendered(front_matter),
        is_unlisted=front_matter.get("unlisted") is True,
        module=_module(front_matter.get("module")),
        chapter=_number(front_matter, "chapter", problems),
        lesson=_number(front_matter, "lesson", problems),
        hardware_tier=_tier(front_matter.get("hardware_tier"), problems),
        proficiency_level=_choice(front_matter, "proficiency_level", PROFICIENCY_LEVELS, problems),
        layer=_choice(front_matter, "layer", LAYERS, problems),
        url=_line(front_matter.get("url")),
        weight=_position(front_matter.get("weight")),
        published_on=_date(front_matter.get("date")),
        problems=tuple(problems),
    )


def _is_never_rendered(front_matter: Mapping[str, object]) -> bool:
    """Whether Hugo publishes no page for the lesson."""
    build = front_matter.get("build", front_matter.get("_build"))
    render = build.get("render") if isinstance(build, dict) else None
    return front_matter.get("headless") is True or render in (False, "never")


def _date(value: object) -> date | None:
    """The day, if the value is a date, a time, or a text that starts with a date."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        try:
            return date.fromisoformat(value[:10])
        except ValueError:
            return None
    return value if isinstance(value, date) else None


def _number(front_matter: Mapping[str, object], key: str, problems: list[str]) -> int | None:
    number = _whole_number(front_matter.get(key))
    if number is not None and not 0 <= number <= NUMBER_MAX:
        problems.append(f"{key} is {_shown(number)}; allowed: 0 to {NUMBER_MAX:,}.")
        return None
    return number


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


def _tier(value: object, problems: list[str]) -> int | None:
    number = _whole_number(value)
    if value is None or number in HARDWARE_TIERS:
        return number
    problems.append(_not_allowed("hardware_tier", value, HARDWARE_TIERS))
    return None


def _choice(front_matter: Mapping[str, object], key: str, allowed: tuple[str, ...], problems: list[str]) -> str | None:
    value = front_matter.get(key)
    choice = value.strip().upper() if isinstance(value, str) else value
    if choice is None or (isinstance(choice, str) and choice in allowed):
        return choice
    problems.append(_not_allowed(key, value, allowed))
    return None


def _not_allowed(key: str, value: object, allowed: tuple[object, ...]) -> str:
    return f"{key} is {_shown(value)}; allowed: {', '.join(map(str, allowed))}."


def _shown(value: object) -> str:
    """With YAML aliases, a value may be far larger than it looks: only the start of a scalar is shown."""
    if isinstance(value, int) and abs(value) > 10**18:
        return "too large"
    return f"{value!r:.40}" if isinstance(value, str | int | float | date) else f"a {type(value).__name__}"
